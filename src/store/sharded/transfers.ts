/**
 * Transfers: tasks and ordered queues move from and to a sharded store, pages of jobs only from it or to one of its
 * shards.
 */

import { invalidOption } from '../../job/errors.ts'
import type {
  OrderedTransferStore,
  PageName,
  PageTransferStore,
  TaskTransferStore,
  TransferPage,
  TransferStore,
} from '../contract.ts'
import { pageThrough, type Shard, type Shards } from './shards.ts'

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

  readonly put: PageTransferStore['put'] = () => {
    throw invalidOption("jobs can't be moved to several shards at once: move them to one of the shards")
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

  readonly putIds: OrderedTransferStore['putIds'] = (page, queue, ...rest) =>
    this.#of(queue).putIds(page, queue, ...rest)

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
