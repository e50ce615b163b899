import type { AppPort } from '../app/port.ts'
import { canonicalJson } from '../job/canonical.ts'
import type { OrderedPage, OrderedStore } from '../store/contract.ts'
import { listOf, type OrderedList, type OrderedListOptions, pageOf, type WaitingId, waitingId } from './entry.ts'
import { idOf, type OrderedIds, onAll, onSome } from './ids.ts'

type Act = 'now' | 'delete' | 'kill'

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
    const { by, page } = pageOf('waiting.list', options, SORTS, { payloads: 'whole' })
    const { payloads = SHOWN } = options
    const get = (one: OrderedPage) => this.#store.waiting(this.#queue, by, { ...one, payloads })
    return listOf(page, waitingId, get, (last) => (by === 'id' ? 0 : last[by]))
  }

  /** Resolves with the waiting payloads of an id; null when there are none. */
  async find(id: string | number | bigint): Promise<WaitingId | null> {
    const { waiting } = await this.#store.find(this.#queue, idOf('waiting.find', id))
    return waiting && waitingId(waiting)
  }

  /** Makes all ids due now that are due later. Returns how many. */
  performAllNow(): Promise<number> {
    const now = this.#app.now()
    return this.#onHighest('performIn', now / 1000, (ids) => this.#store.act(this.#queue, 'now', ids, { now }))
  }

  /** Makes these ids due now. Returns how many. */
  performNow(ids: OrderedIds): Promise<number> {
    return this.#onSome('performNow', 'now', ids, 'performAllNow()')
  }

  /** Moves all ids that have failed to the morgue. Returns how many. */
  killAllFailed(): Promise<number> {
    return this.#onFailed('kill')
  }

  /** Deletes all ids that have failed. Returns how many. */
  deleteAllFailed(): Promise<number> {
    return this.#onFailed('delete')
  }

  /** Removes the waiting payloads of these ids; ids in flight continue. Returns the number of ids that had any. */
  delete(ids: OrderedIds): Promise<number> {
    return this.#onSome('delete', 'delete', ids, 'deleteAllFailed()')
  }

  /** Moves the waiting payloads of these ids to the morgue. Returns the number of ids that had any. */
  kill(ids: OrderedIds, error = 'killed'): Promise<number> {
    return this.#onSome('kill', 'kill', ids, 'killAllFailed()', { error })
  }

  /** Removes one waiting payload, given as it was pushed; an id without payloads is removed. False: it is not there. */
  async deletePayload(id: string | number | bigint, payload: unknown): Promise<boolean> {
    return this.#store.deletePayload(this.#queue, idOf('waiting.deletePayload', id), canonicalJson(payload))
  }

  get #store(): OrderedStore {
    return this.#app.store.ordered
  }

  #onSome(what: string, act: Act, ids: OrderedIds, forAll: string, options?: { error: string }): Promise<number> {
    const now = this.#app.now()
    const actOn = (some: string[]) => this.#store.act(this.#queue, act, some, { now, ...options })
    return onSome(`waiting.${what}`, ids, actOn, forAll)
  }

  #onFailed(act: Act): Promise<number> {
    const options = { failed: true, now: this.#app.now() }
    return this.#onHighest('retryCount', -1, (ids) => this.#store.act(this.#queue, act, ids, options))
  }

  /** Acts on the ids with a higher value, from the highest down; no others are read. */
  #onHighest(by: 'performIn' | 'retryCount', above: number, act: (ids: string[]) => Promise<number>): Promise<number> {
    const read = async (page: OrderedPage) => {
      const found = await this.#store.waiting(this.#queue, by, { ...page, desc: true, payloads: 0 })
      return found.filter((one) => one[by] > above)
    }
    return onAll(read, (last) => last[by], act)
  }
}
