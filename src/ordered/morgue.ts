import type { AppPort } from '../app/port.ts'
import { type DeadId, deadId, listOf, type OrderedList, type OrderedListOptions, pageOf } from './entry.ts'
import { idOf, idsOf, inPages, type OrderedIds } from './ids.ts'

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
      (one) => this.#app.store.ordered.morgue(this.#queue, by, one),
      ({ updatedAt }) => (by === 'id' ? 0 : updatedAt),
    )
  }

  async find(id: string | number | bigint): Promise<DeadId | null> {
    const { dead } = await this.#app.store.ordered.find(this.#queue, idOf('morgue.find', id))
    return dead && deadId(dead)
  }

  /** Back among what waits, fresh and due now. @returns how many it were */
  resurrect(ids: OrderedIds | 'all'): Promise<number> {
    const act = (some: string[]) => this.#app.store.ordered.resurrect(this.#queue, some, this.#app.now())
    return ids === 'all' ? this.#all(act) : inPages(idsOf('resurrect', ids), act)
  }

  /** @returns how many it were */
  delete(ids: OrderedIds | 'all'): Promise<number> {
    const act = (some: string[]) => this.#app.store.ordered.deleteDead(this.#queue, some)
    return ids === 'all' ? this.#all(act) : inPages(idsOf('delete', ids), act)
  }

  async #all(act: (ids: string[]) => Promise<number>): Promise<number> {
    let sum = 0
    let after: { value: number; id: string } | undefined
    for (;;) {
      const page = await this.#app.store.ordered.morgue(this.#queue, 'id', { ...(after ? { after } : {}), limit: 100 })
      if (page.length === 0) return sum
      const ids = page.map(({ id }) => id)
      after = { value: 0, id: ids.at(-1) as string }
      sum += await act(ids)
    }
  }
}
