/** Dead payloads of each id, each with the score that it first had. */

import type { MorgueEntry, MovedId, OrderedPage, ScoredPayload } from '../../contract.ts'
import { inOneStep, type Step } from '../../sql/ordered-steps.ts'
import { Tables } from '../server/database.ts'
import { sql } from '../sql.generated.ts'
import type { OpenQueue } from './open-queue.ts'
import { behind, behindId } from './page-bounds.ts'
import { PayloadTable } from './payloads.ts'

/** The most entries that one call of `pruneMorgue` deletes. */
const MAX_PRUNED = 1000

/** An id, and those of its payloads that die. */
export interface Death {
  id: string
  payloads: ScoredPayload[]
  error: string | null
}

/** The entry of a dead id, without its payloads. */
export type DeadRow = Omit<MorgueEntry, 'payloads'>

export class MorgueTable extends Tables {
  readonly #payloads = this.db.get(PayloadTable)

  /** Adds payloads of ids, each id once, and returns their entries with these payloads. */
  async enter(open: OpenQueue, deaths: readonly Death[], now: number): Promise<MorgueEntry[]> {
    if (deaths.length === 0) return []
    await this.#payloads.add(
      open.id,
      1,
      deaths.map(({ id, payloads }) => [id, payloads] as const),
    )
    const counts = await this.count(open, deaths, now)
    return deaths.map(({ id, payloads, error }) => {
      return { id, payloads, updatedAt: now / 1000, error, deaths: counts.get(id) ?? 1 }
    })
  }

  /** Counts a death of ids, each id once, and returns how often each has died. The caller moves the payloads. */
  async count(
    open: OpenQueue,
    ids: readonly { id: string; error: string | null }[],
    now: number,
  ): Promise<Map<string, number>> {
    if (ids.length === 0) return new Map()
    const columns = [
      ids.map(({ id }) => id),
      now / 1000,
      ids.map(({ error }) => error?.toWellFormed() ?? null),
    ] as const
    const rows = await this.db.all<{ id: string; deaths: number }>(sql.morgue.enter, open.id, ...columns)
    const added = rows.filter(({ deaths }) => deaths === 1).length
    if (added > 0) open.changeQueue({ morgue: open.queue.morgue + added })
    return new Map(rows.map(({ id, deaths }) => [id, deaths]))
  }

  async page(
    queue: number,
    by: 'id' | 'updatedAt',
    { desc = false, after, limit }: OrderedPage,
  ): Promise<MorgueEntry[]> {
    if (limit <= 0) return []
    const bound = by === 'id' ? behindId(queue, desc, after?.id) : behind(desc, after)
    const [up, down] = by === 'id' ? [sql.morgue.idUp, sql.morgue.idDown] : [sql.morgue.ageUp, sql.morgue.ageDown]
    return await this.#entries(queue, await this.db.all<DeadRow>(desc ? down : up, queue, ...bound, limit))
  }

  async find(queue: number, id: string): Promise<MorgueEntry | null> {
    const [entry] = await this.#entries(queue, [...(await this.heads(queue, [id])).values()])
    return entry ?? null
  }

  /** Returns the entries of those of the ids that are dead, without payloads. */
  async heads(queue: number, ids: readonly string[]): Promise<Map<string, DeadRow>> {
    const rows = await this.db.all<DeadRow>(sql.morgue.find, queue, ids)
    return new Map(rows.map((row) => [row.id, row]))
  }

  /** Adds payloads of dead ids with their entries, merged. */
  async restore(open: OpenQueue, ids: readonly MovedId[]): Promise<void> {
    const entries = new Map(ids.flatMap(({ id, dead }) => (dead ? [[id, dead] as const] : [])))
    if (entries.size === 0) return
    const payloads = ids.flatMap(({ id, dead, payloads }) => (dead ? [[id, payloads] as const] : []))
    await this.#payloads.add(open.id, 1, payloads)
    const there = await this.heads(open.id, [...entries.keys()])
    const columns = (['updatedAt', 'deaths', 'error'] as const).map((name) =>
      Array.from(entries.values(), (entry) => entry[name]),
    )
    await this.db.run(sql.morgue.restore, open.id, [...entries.keys()], ...columns)
    open.changeQueue({ morgue: open.queue.morgue + entries.size - there.size })
  }

  async delete(open: OpenQueue, ids: readonly string[]): Promise<Step> {
    const sizes = await this.#payloads.deadSizes(open.id, ids)
    const { some, rest, isPart } = inOneStep(ids, (id) => sizes.get(id) ?? 0)
    if (isPart) {
      const [id] = some as [string]
      await this.#payloads.drop(open.id, [id], 1, await this.#payloads.stepEnd(open.id, id, 1))
      return { n: 0, rest }
    }
    await this.#payloads.drop(open.id, some, 1)
    const n = some.length > 0 ? await this.db.run(sql.morgue.remove, open.id, some) : 0
    open.changeQueue({ morgue: open.queue.morgue - n })
    return { n, rest }
  }

  /** Returns the oldest ids that are too many or too old. */
  async excess(open: OpenQueue, max: number, since: number): Promise<string[]> {
    const lowest = await this.db.all<DeadRow>(sql.morgue.ageUp, open.id, ...behind(false, undefined), MAX_PRUNED)
    const excess = open.queue.morgue - max
    return lowest.filter(({ updatedAt }, i) => i < excess || updatedAt < since).map(({ id }) => id)
  }

  async #entries(queue: number, rows: readonly DeadRow[]): Promise<MorgueEntry[]> {
    const payloads = await this.#payloads.lowest(
      queue,
      rows.map(({ id }) => [id, null] as const),
      1,
    )
    return rows.map(({ id, updatedAt, error, deaths }) => {
      return { id, payloads: payloads.get(id) ?? [], updatedAt, error, deaths }
    })
  }
}
