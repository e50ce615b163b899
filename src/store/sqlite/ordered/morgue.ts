/** Dead payloads of each id, each with the score that it first had. */

import type { MorgueEntry, MovedId, OrderedPage, ScoredPayload } from '../../contract.ts'
import type { WaitingRow } from '../../sql/ordered-rows.ts'
import { inOneStep, type Step } from '../../sql/ordered-steps.ts'
import { Tables } from '../file/database.ts'
import { sql } from '../sql.generated.ts'
import type { OpenQueue } from './open-queue.ts'
import { behind, idFrom } from './page-bounds.ts'
import { WaitingTable } from './waiting.ts'

/** The most entries that one call of `pruneMorgue` deletes. */
const MAX_PRUNED = 1000

type Listed = [string, string, number, string | null]

export class MorgueTable extends Tables {
  readonly #waiting = this.db.get(WaitingTable)

  /** Adds payloads of an id, and returns its entry with them. */
  enter(open: OpenQueue, id: string, payloads: ScoredPayload[], error: string | null, now: number): MorgueEntry {
    this.#waiting.killPayloads(open.id, id, payloads)
    return { id, payloads, updatedAt: now / 1000, error, deaths: this.#count(open, id, error, now) }
  }

  /**
   * Moves the waiting payloads of an id here, at most as many as one step may; the caller stores or deletes the row.
   * `isCounted` is true when an earlier step has moved a part.
   */
  move(open: OpenQueue, row: WaitingRow, error: string | null, now: number, isCounted: boolean): void {
    this.#waiting.kill(open.id, row)
    if (!isCounted) this.#count(open, row.id, error, now)
  }

  page(queue: number, by: 'id' | 'updatedAt', { desc = false, after, limit }: OrderedPage): MorgueEntry[] {
    const rows =
      by === 'id'
        ? this.db.list<Listed>(desc ? sql.morgue.idDown : sql.morgue.idUp, queue, idFrom(desc, after?.id), limit)
        : this.db.list<Listed>(desc ? sql.morgue.ageDown : sql.morgue.ageUp, queue, ...behind(desc, after), limit)
    return rows.map((row) => this.#entry(queue, row))
  }

  find(queue: number, id: string): MorgueEntry | null {
    const row = this.db.json<Listed>(sql.morgue.find, queue, id)
    return row ? this.#entry(queue, row) : null
  }

  /** Returns the entry of an id, without payloads. */
  head(queue: number, id: string): MovedId['dead'] {
    const row = this.db.json<Listed>(sql.morgue.find, queue, id)
    return row ? { updatedAt: Number(row[1]), deaths: row[2], error: row[3] } : null
  }

  /** Adds payloads of an id with its entry, merged. */
  restore(open: OpenQueue, { id, payloads, dead }: MovedId): void {
    if (!dead) return
    this.#waiting.killPayloads(open.id, id, payloads)
    const isNew = this.reason(open.id, id) === undefined
    this.db.run(sql.morgue.restore, open.id, id, dead.updatedAt, dead.deaths, dead.error)
    if (isNew) open.changeQueue({ morgue: open.queue.morgue + 1 })
  }

  /** Returns the last error of a dead id; undefined: it is not dead. */
  reason(queue: number, id: string): { error: string | null } | undefined {
    const row = this.db.json<Listed>(sql.morgue.find, queue, id)
    return row && { error: row[3] }
  }

  delete(open: OpenQueue, ids: readonly string[]): Step {
    const { some, rest, isPart } = inOneStep(ids, (id) => this.#waiting.deadSize(open.id, id))
    for (const id of some) this.#waiting.dropDead(open.id, id)
    if (isPart) return { n: 0, rest }
    const n = some.filter((id) => this.db.run(sql.morgue.remove, open.id, id) > 0).length
    open.changeQueue({ morgue: open.queue.morgue - n })
    return { n, rest }
  }

  /** Returns the oldest ids that are too many or too old. */
  excess(open: OpenQueue, max: number, since: number): string[] {
    const lowest = this.db.list<Listed>(sql.morgue.ageUp, open.id, ...behind(false, undefined), MAX_PRUNED)
    const excess = open.queue.morgue - max
    return lowest.filter(([, updatedAt], i) => i < excess || Number(updatedAt) < since).map(([id]) => id)
  }

  #count(open: OpenQueue, id: string, error: string | null, now: number): number {
    const values = [open.id, id, now / 1000, error?.toWellFormed() ?? null] as const
    const { deaths } = this.db.first(sql.morgue.enter, ...values) as { deaths: number }
    if (deaths === 1) open.changeQueue({ morgue: open.queue.morgue + 1 })
    return deaths
  }

  #entry(queue: number, [id, updatedAt, deaths, error]: Listed): MorgueEntry {
    return { id, payloads: this.#waiting.lowestPayloads(queue, id, -1, 1), updatedAt: Number(updatedAt), error, deaths }
  }
}
