/** Batches. A batch is on the shard of its id, with all of its members and the batches inside it. */

import { invalidOption } from '../../job/errors.ts'
import type { BatchPush, BatchRecord, BatchStore } from '../contract.ts'
import { byBytes, merged, pageThrough, type Shards, slotOf } from './shards.ts'

export class ShardedBatchStore implements BatchStore {
  readonly #shards: Shards

  constructor(shards: Shards) {
    this.#shards = shards
  }

  #of(bid: string): BatchStore {
    return this.#shards.of(bid).store.batches
  }

  readonly push: BatchStore['push'] = (push, now) => {
    const [bid = ''] = bidsOf(push)
    checkTogether(push, slotOf(bid))
    return this.#of(bid).push(push, now)
  }

  readonly find: BatchStore['find'] = (bid) => this.#of(bid).find(bid)
  readonly members: BatchStore['members'] = (bid, page) => this.#of(bid).members(bid, page)
  readonly notes: BatchStore['notes'] = (bid) => this.#of(bid).notes(bid)
  readonly cancel: BatchStore['cancel'] = (bid, now) => this.#of(bid).cancel(bid, now)

  readonly apply: BatchStore['apply'] = (effects, now) =>
    this.#shards.spread(
      effects,
      ({ bid }) => this.#shards.of(bid),
      (store, some) => store.batches.apply(some, now),
    )

  readonly page: BatchStore['page'] = async (page) => {
    const all = await this.#shards.each((store) => store.batches.page(page))
    const items = merged(
      all.map(({ items }) => items),
      newestFirst,
      Number.POSITIVE_INFINITY,
    )
    // A shard has not returned its batches behind its `next` yet. So only those up to the newest `next` are complete.
    const ends = all.flatMap(({ next }) => next ?? [])
    const [end] = ends.sort((a, b) => b.createdAt - a.createdAt || byBytes(b.bid, a.bid))
    const complete = end ? items.filter((one) => newestFirst(one, end) <= 0) : items
    const shown = complete.slice(0, page.limit)
    const last = shown.at(-1)
    const isCut = shown.length < complete.length
    return { items: shown, next: isCut && last ? { createdAt: last.createdAt, bid: last.bid } : (end ?? null) }
  }

  readonly cancelling: BatchStore['cancelling'] = ({ after, limit }) =>
    pageThrough(this.#shards, after, limit, (store, page) => store.batches.cancelling(page))

  readonly idle: BatchStore['idle'] = async (before, { after, limit }) => {
    const all = await this.#shards.reachable((store) => store.batches.idle(before, { after, limit }))
    const items = merged(
      all.map(({ answer }) => answer.items),
      byProgress,
      limit,
    )
    const last = items.at(-1)
    const isMore =
      all.some(({ answer }) => answer.next !== null) || all.flatMap(({ answer }) => answer.items).length > limit
    return { items, next: isMore && last ? { progressAt: last.progressAt, bid: last.bid } : null }
  }

  readonly prune: BatchStore['prune'] = async (now, limit) => {
    const all = await this.#shards.reachable((store) => store.batches.prune(now, limit))
    return all.reduce((sum, { answer }) => sum + answer, 0)
  }
}

/** Returns the ids of the batches of a push, the outermost first. */
function bidsOf({ batches, members }: BatchPush): string[] {
  return [...batches.flatMap(({ bid, parent }) => [parent ?? bid, bid]), ...members.map(({ bid }) => bid)]
}

/**
 * Checks that all of a push belongs to one slot.
 * @throws INVALID_OPTION for batches of several slots, or a member with a lock, which may have another slot
 */
function checkTogether(push: BatchPush, slot: number): void {
  if (bidsOf(push).some((bid) => slotOf(bid) !== slot)) {
    throw invalidOption(
      'with shards, the id of a batch must begin with the same three digits as that of the batch around it',
    )
  }
  const locked = push.members.find(({ id, item }) => item?.unique?.claims.some(({ key }) => !key.endsWith(id)))
  if (!locked) return
  throw invalidOption(
    `job ${locked.id}: with shards, a unique job can't be in a batch, because its lock and its batch may be on different shards; push it outside the batch`,
  )
}

function newestFirst(a: Pick<BatchRecord, 'createdAt' | 'bid'>, b: Pick<BatchRecord, 'createdAt' | 'bid'>): number {
  return b.createdAt - a.createdAt || byBytes(b.bid, a.bid)
}

function byProgress(a: BatchRecord, b: BatchRecord): number {
  return a.progressAt - b.progressAt || byBytes(a.bid, b.bid)
}
