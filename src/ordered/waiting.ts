import type { AppPort } from '../app/port.ts'
import { ORDERED_PAGE, type OrderedPage } from '../store/contract.ts'
import { canonicalJson } from './canonical.ts'
import { listOf, type OrderedList, type OrderedListOptions, pageOf, type WaitingId, waitingId } from './entry.ts'
import { idOf, idsOf, inPages, type OrderedIds, refuseAll } from './ids.ts'

const SORTS = ['id', 'performIn', 'retryCount'] as const
/** A list shows this many payloads of one id by default. */
const SHOWN = 20

export interface WaitingListOptions extends OrderedListOptions<(typeof SORTS)[number]> {
  /** The most payloads of each id; default 20. */
  payloads?: number
}

/**
 * The waiting ids of an ordered queue. An action on all ids reads page after page, so it may or may not reach ids that are
 * pushed meanwhile.
 */
export class Waiting {
  readonly #app: Pick<AppPort, 'store' | 'now'>
  readonly #queue: string

  constructor(queue: string, app: Pick<AppPort, 'store' | 'now'>) {
    this.#queue = queue
    this.#app = app
  }

  /** @throws INVALID_OPTION */
  async list(options: WaitingListOptions = {}): Promise<OrderedList<WaitingId>> {
    const { by, page } = pageOf('waiting.list', options, SORTS, ['payloads'])
    const { payloads = SHOWN } = options
    const get = (one: OrderedPage) => this.#app.store.ordered.waiting(this.#queue, by, { ...one, payloads })
    return listOf(page, waitingId, get, (last) => (by === 'id' ? 0 : last[by]))
  }

  /** Resolves with the waiting payloads of an id; null when there are none. */
  async find(id: string | number | bigint): Promise<WaitingId | null> {
    const { waiting } = await this.#app.store.ordered.find(this.#queue, idOf('waiting.find', id))
    return waiting && waitingId(waiting)
  }

  /** Makes all due now that are due later. @returns how many */
  performAllNow(): Promise<number> {
    const now = this.#app.now()
    return this.#each('performIn', now / 1000, (ids) => this.#app.store.ordered.act(this.#queue, 'now', ids, { now }))
  }

  /** Makes these due now. @returns how many it were */
  async performNow(ids: OrderedIds): Promise<number> {
    refuseAll('waiting.performNow', ids, 'performAllNow()')
    const now = this.#app.now()
    return inPages(idsOf('performNow', ids), (some) => this.#app.store.ordered.act(this.#queue, 'now', some, { now }))
  }

  /** Puts all that have failed into the morgue. @returns how many */
  killAllFailed(): Promise<number> {
    return this.#failed('kill')
  }

  /** Deletes all that have failed. @returns how many */
  deleteAllFailed(): Promise<number> {
    return this.#failed('delete')
  }

  /** Removes the waiting payloads of these ids; ids in flight continue. @returns the number of ids that had any */
  async delete(ids: OrderedIds): Promise<number> {
    refuseAll('waiting.delete', ids, 'deleteAllFailed()')
    const now = this.#app.now()
    return inPages(idsOf('delete', ids), (some) => this.#app.store.ordered.act(this.#queue, 'delete', some, { now }))
  }

  /** Puts what waits of these ids into the morgue. @returns of how many something waited */
  async kill(ids: OrderedIds, error = 'killed'): Promise<number> {
    refuseAll('waiting.kill', ids, 'killAllFailed()')
    const options = { now: this.#app.now(), error }
    return inPages(idsOf('kill', ids), (some) => this.#app.store.ordered.act(this.#queue, 'kill', some, options))
  }

  /** Takes one payload that waits away, as it was pushed; an id without any is gone. False: it is not there. */
  async deletePayload(id: string | number | bigint, payload: unknown): Promise<boolean> {
    const text = canonicalJson(payload)
    return this.#app.store.ordered.deletePayload(this.#queue, idOf('waiting.deletePayload', id), text)
  }

  #failed(act: 'kill' | 'delete'): Promise<number> {
    const options = { failed: true, now: this.#app.now() }
    return this.#each('retryCount', -1, (ids) => this.#app.store.ordered.act(this.#queue, act, ids, options))
  }

  /** Lists the ids with a higher value, from the highest down; no others are read. */
  async #each(by: 'performIn' | 'retryCount', above: number, act: (ids: string[]) => Promise<number>): Promise<number> {
    let sum = 0
    let after: { value: number; id: string } | undefined
    for (;;) {
      const page = { desc: true, limit: ORDERED_PAGE, payloads: 0, ...(after ? { after } : {}) }
      const found = await this.#app.store.ordered.waiting(this.#queue, by, page)
      const met = found.filter((one) => one[by] > above)
      if (met.length > 0) sum += await act(met.map(({ id }) => id))
      const last = met.at(-1)
      if (!last || met.length < ORDERED_PAGE) return sum
      after = { value: last[by], id: last.id }
    }
  }
}
