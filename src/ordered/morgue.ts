import type { AppPort } from '../app/port.ts'
import type { OrderedPage, OrderedStore } from '../store/contract.ts'
import { type DeadId, deadId, listOf, type OrderedList, type OrderedListOptions, pageOf } from './entry.ts'
import { idOf, type OrderedIds, onAll, onSome } from './ids.ts'

const SORTS = ['updatedAt', 'id'] as const

/** The payloads of an ordered queue that used up their retries, or crashed their process too often. */
export class Morgue {
  readonly #app: Pick<AppPort, 'store' | 'now'>
  readonly #queue: string

  constructor(queue: string, app: Pick<AppPort, 'store' | 'now'>) {
    this.#queue = queue
    this.#app = app
  }

  /** @throws INVALID_OPTION */
  async list(options: OrderedListOptions<(typeof SORTS)[number]> = {}): Promise<OrderedList<DeadId>> {
    const { by, page } = pageOf('morgue.list', options, SORTS)
    return listOf(
      page,
      deadId,
      (one) => this.#store.morgue(this.#queue, by, one),
      ({ updatedAt }) => (by === 'id' ? 0 : updatedAt),
    )
  }

  async find(id: string | number | bigint): Promise<DeadId | null> {
    const { dead } = await this.#store.find(this.#queue, idOf('morgue.find', id))
    return dead && deadId(dead)
  }

  /** Moves these ids, or all, out of the morgue: they wait again, due now and without failures. Returns how many. */
  resurrect(ids: OrderedIds | 'all'): Promise<number> {
    return this.#act('resurrect', ids, (some) => this.#store.resurrect(this.#queue, some, this.#app.now()))
  }

  /** Deletes these ids, or all of them. Returns how many. */
  delete(ids: OrderedIds | 'all'): Promise<number> {
    return this.#act('delete', ids, (some) => this.#store.deleteDead(this.#queue, some))
  }

  #act(what: string, ids: OrderedIds | 'all', act: (ids: string[]) => Promise<number>): Promise<number> {
    if (ids !== 'all') return onSome(what, ids, act)
    const read = (page: OrderedPage) => this.#store.morgue(this.#queue, 'id', page)
    return onAll(read, () => 0, act)
  }

  get #store(): OrderedStore {
    return this.#app.store.ordered
  }
}
