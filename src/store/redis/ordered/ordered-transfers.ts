/** Transfers of ordered queues. Each method is one script. */

import {
  type MovedId,
  ORDERED_STEP,
  type OrderedTransferStore,
  type PageName,
  type PageOutcome,
  type PageTransferStore,
  TRANSFER_PAGES_KEPT,
  type TransferPage,
} from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import type { Argument, Reply } from '../server/connection.ts'
import { readMovedId } from '../server/moved-ids.ts'
import { allShards, OrderedPart, type OrderedQueues, writeError } from './queues.ts'

export class OrderedTransfers extends OrderedPart implements OrderedTransferStore {
  readonly #pages: Pick<PageTransferStore, 'held'>

  constructor(queues: OrderedQueues, pages: Pick<PageTransferStore, 'held'>) {
    super(queues)
    this.#pages = pages
  }

  async holdIds(
    transfer: string,
    target: string,
    { queue, ids, dead }: Parameters<OrderedTransferStore['holdIds']>[2],
  ): Promise<TransferPage | null> {
    const args = [transfer, target, queue, dead ? 1 : '', ORDERED_STEP, ...ids]
    const answer = await this.shared.run(queue, lua.orderedHold, allShards, args, undefined, this.#held)
    const [number, ...taken] = (answer ?? []) as [number | 'held', ...string[]]
    if (number === 'held') return this.#pages.held()
    if (number === undefined) return null
    return { transfer, target, number, jobs: [], ordered: { queue, ids: taken.map((text) => readMovedId(text, dead)) } }
  }

  async putIds(page: PageName, queue: string, shards: number, ids: readonly MovedId[]): Promise<PageOutcome> {
    const args = ['put', `${page.transfer}:${page.number}`, TRANSFER_PAGES_KEPT, ...argumentsOf(ids)]
    const { server } = this.shared
    const outcome = await server.confirmedByReplicas(() =>
      this.#put(queue, shards, args, [server.keys.transfers(page)]),
    )
    return outcome as PageOutcome
  }

  async returnIds({ transfer, number, ordered }: TransferPage): Promise<boolean> {
    if (!ordered) return false
    const args = ['return', transfer, number, ...argumentsOf(ordered.ids)]
    return (await this.#put(ordered.queue, 1, args, this.#held)) === 1
  }

  /** Defines the queue if it is not there: it may have been deleted while a page has all of its ids. */
  async #put(queue: string, shards: number, args: readonly Argument[], keys: readonly string[]): Promise<Reply> {
    for (;;) {
      const answer = await this.shared.run(queue, lua.orderedPut, allShards, args, undefined, keys)
      if (answer !== undefined) return answer
      await this.shared.define(queue, shards)
    }
  }

  get #held(): string[] {
    const { transferPage, transferJobs } = this.shared.server.keys
    return [transferPage, transferJobs]
  }
}

function argumentsOf(ids: readonly MovedId[]): Argument[] {
  const all = ids.flatMap(({ id, payloads, waiting, dead }): Argument[] => {
    const about = dead
      ? [dead.updatedAt, dead.deaths, writeError(dead.error)]
      : [
          waiting?.performIn ?? 0,
          waiting?.retryCount ?? -1,
          waiting?.crashes ?? 0,
          waiting?.suspect ? 1 : 0,
          writeError(waiting?.error),
        ]
    const texts: Argument[] = [id, ...about, ...payloads.flatMap(([text, score]) => [score, text])]
    return [dead ? 1 : '', texts.length, ...texts]
  })
  return [ids.length, ...all]
}
