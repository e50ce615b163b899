/**
 * Transfers of ordered queues: payloads of ids that go to another store, with the state of the id. A page holds ids of one
 * queue in the place of jobs (transfers.ts). An id with very many payloads goes in several pages, the lowest payloads first.
 */

import type { MovedId } from './ordered.ts'
import type { PageName, PageOutcome, TransferPage } from './transfers.ts'

export interface OrderedTransferStore {
  /**
   * Takes ids of an ordered queue and holds them as the next page, as `hold` does: waiting ids that are not in flight, or dead
   * ids. It takes at most ORDERED_STEP payloads, and at least one; nothing unless the queue is paused.
   */
  holdIds(
    transfer: string,
    target: string,
    from: { queue: string; ids: readonly string[]; dead: boolean },
  ): Promise<TransferPage | null>
  /**
   * Stores the ids of a page, as `put` does, merged with those of the store: a waiting id keeps its state and the earlier
   * performIn, a dead one its error, the newer time and the larger number of deaths. A new queue is defined with `shards`.
   */
  putIds(page: PageName, queue: string, shards: number, ids: readonly MovedId[]): Promise<PageOutcome>
  /** Ends a page that the source holds, and puts its ids back, merged. False: the store does not hold this page. */
  returnIds(page: TransferPage): Promise<boolean>
}
