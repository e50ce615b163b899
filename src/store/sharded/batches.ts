/** Batches. A batch is on the shard of its id, with all of its members and the batches inside it. */

import { invalidOption } from '../../job/errors.ts'
import {
  type BatchCreation,
  type BatchProgress,
  type BatchPush,
  type BatchRecord,
  type BatchStore,
  refuseUniqueMembers,
} from '../contract.ts'
import { byBytes, pageThrough } from './pages.ts'
import { type Shards, slotOf } from './shards.ts'

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
    refuseUniqueMembers(push)
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
    const { items, next } = mergedPage(all, newestFirst, page.limit)
    return { items, next: next && { createdAt: next.createdAt, bid: next.bid } }
  }

  readonly cancelling: BatchStore['cancelling'] = ({ after, limit }) =>
    pageThrough(this.#shards, after, limit, (store, page) => store.batches.cancelling(page), { skipsUnreachable: true })

  readonly idle: BatchStore['idle'] = async (before, { after, limit }) => {
    const all = await this.#shards.reachable((store) => store.batches.idle(before, { after, limit }))
    const pages = all.map(({ answer }) => answer)
    const { items, next } = mergedPage(pages, byProgress, limit)
    return { items, next: next && { progressAt: next.progressAt, bid: next.bid } }
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

/** Checks that all of a push belongs to one slot. @throws INVALID_OPTION */
function checkTogether(push: BatchPush, slot: number): void {
  if (bidsOf(push).some((bid) => slotOf(bid) !== slot)) {
    throw invalidOption(
      'with shards, the id of a batch must begin with the same three digits as that of the batch around it',
    )
  }
}

/**
 * Merges pages of several shards into one. A shard has not returned its batches after its `next` yet, so the merged
 * page ends at the first `next` of all.
 */
function mergedPage<Key extends object>(
  pages: readonly { items: (BatchRecord & Key)[]; next: Key | null }[],
  compare: (a: Key, b: Key) => number,
  limit: number,
): { items: (BatchRecord & Key)[]; next: Key | null } {
  const ends = pages.flatMap(({ next }) => next ?? []).sort(compare)
  const [end = null] = ends
  const items = pages.flatMap((page) => page.items).sort(compare)
  const complete = end ? items.filter((one) => compare(one, end) <= 0) : items
  const shown = complete.slice(0, limit)
  return { items: shown, next: shown.length < complete.length ? (shown.at(-1) ?? null) : end }
}

function newestFirst(a: BatchCreation, b: BatchCreation): number {
  return b.createdAt - a.createdAt || byBytes(b.bid, a.bid)
}

function byProgress(a: BatchProgress, b: BatchProgress): number {
  return a.progressAt - b.progressAt || byBytes(a.bid, b.bid)
}
