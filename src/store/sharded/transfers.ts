/**
 * Transfers. A page that this store holds is on one shard. The jobs of a page from another store go to several shards:
 * the shard of the page's name decides what becomes of the page, then the others get their jobs. If this is
 * interrupted, the caller repeats it. The same jobs then go to the same shards, and a shard that knows the page changes
 * nothing.
 */

import { readPayload } from '../../job/payload.ts'
import { jidLock, readUnique } from '../../job/unique.ts'
import {
  type OrderedTransferStore,
  outcomeWith,
  type PageName,
  type PageTransferStore,
  type TaskTransferStore,
  type TransferPage,
  type TransferStore,
} from '../contract.ts'
import { pageThrough } from './pages.ts'
import type { Shard, Shards } from './shards.ts'

export class ShardedTransferStore implements TransferStore {
  readonly #shards: Shards

  constructor(shards: Shards) {
    this.#shards = shards
  }

  // ------------------------------------------------------------------------------------------ pages

  readonly hold: PageTransferStore['hold'] = async (...args) => {
    const held = await this.held()
    return held ?? this.#shards.find(({ transfers }) => transfers.hold(...args))
  }

  readonly held: PageTransferStore['held'] = () => this.#shards.find(({ transfers }) => transfers.held())

  readonly put: PageTransferStore['put'] = async (page, items, now, outcome = outcomeWith(items)) => {
    const parts = this.#shards.group(items, ({ text }) => this.#shards.of(keyOf(text)))
    const first = this.#shards.of(page.transfer)
    const decided = await first.store.transfers.put(page, parts.get(first) ?? [], now, outcome)
    if (decided === 'void') return decided
    parts.delete(first)
    await Promise.all([...parts].map(([{ store }, part]) => store.transfers.put(page, part, now)))
    return decided
  }

  readonly endPage: PageTransferStore['endPage'] = async (page, moves, now) => {
    const shard = await this.#holderOf(page)
    return shard ? shard.store.transfers.endPage(page, moves, now) : false
  }

  async #holderOf({ transfer, number }: PageName): Promise<Shard | undefined> {
    const pages = await this.#shards.each(({ transfers }) => transfers.held())
    return this.#shards.all.find(({ index }) => {
      const page: TransferPage | null | undefined = pages[index]
      return page?.transfer === transfer && page.number === number
    })
  }

  // ------------------------------------------------------------------------------------------ ordered queues

  readonly holdIds: OrderedTransferStore['holdIds'] = async (transfer, target, from) =>
    (await this.held()) ?? this.#of(from.queue).holdIds(transfer, target, from)

  readonly putIds: OrderedTransferStore['putIds'] = async (page, queue, shards, ids) => {
    const first = this.#of(page.transfer)
    const ofQueue = this.#of(queue)
    if (first !== ofQueue && (await first.put(page, [], 0, 'stored')) === 'void') return 'void'
    return ofQueue.putIds(page, queue, shards, ids)
  }

  readonly returnIds: OrderedTransferStore['returnIds'] = async (page) => {
    const shard = await this.#holderOf(page)
    return shard ? shard.store.transfers.returnIds(page) : false
  }

  // ------------------------------------------------------------------------------------------ tasks

  readonly taskIds: TaskTransferStore['taskIds'] = async ({ after, limit }) => {
    const { items, next } = await pageThrough(this.#shards, after, limit, async ({ transfers }, page) => {
      const { ids, next } = await transfers.taskIds(page)
      return { items: ids, next }
    })
    return { ids: items, next }
  }

  readonly movingTasks: TaskTransferStore['movingTasks'] = async () =>
    (await this.#shards.each(({ transfers }) => transfers.movingTasks())).flat()

  readonly freeze: TaskTransferStore['freeze'] = (id, now) => this.#of(id).freeze(id, now)
  readonly unfreeze: TaskTransferStore['unfreeze'] = (id, now) => this.#of(id).unfreeze(id, now)
  readonly seal: TaskTransferStore['seal'] = (id, ...rest) => this.#of(id).seal(id, ...rest)
  readonly unseal: TaskTransferStore['unseal'] = (id, transfer) => this.#of(id).unseal(id, transfer)
  readonly readTask: TaskTransferStore['readTask'] = (id, ...rest) => this.#of(id).readTask(id, ...rest)
  readonly dropTask: TaskTransferStore['dropTask'] = (id, transfer) => this.#of(id).dropTask(id, transfer)
  readonly putTask: TaskTransferStore['putTask'] = (id, ...rest) => this.#of(id).putTask(id, ...rest)
  readonly voidTask: TaskTransferStore['voidTask'] = (id, ...rest) => this.#of(id).voidTask(id, ...rest)

  #of(key: string): TransferStore {
    return this.#shards.of(key).store.transfers
  }
}

/**
 * Returns the key of the shard of a job that comes from another store: that of its task or its lock, else its jid. It
 * depends on nothing but the text, which never changes, so that a repeated call finds the same shard.
 */
function keyOf(text: string): string {
  const payload = readPayload(text)
  if (!payload || typeof payload.jid !== 'string') return text
  const { jid } = payload
  if (payload.hk_task !== undefined) return jid
  return readUnique(payload).find(({ key }) => key !== jidLock(jid))?.key ?? jid
}
