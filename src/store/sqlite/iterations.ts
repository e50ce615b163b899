/** How far jobs have come that go through many items. */

import type { IterationEffect, IterationRecord, IterationState } from '../contract.ts'
import type { Database } from './database.ts'
import { sql } from './sql.generated.ts'

const KEPT_MS = 30 * 86_400_000

export class Iterations {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  find(jid: string): IterationRecord | null {
    return this.#db.first<IterationRecord>(sql.iteration.find, jid) ?? null
  }

  saveUnlessOvertaken(
    jid: string,
    { executions, runtime, cursor }: IterationState,
    now: number,
  ): { overtaken: boolean; cancelled: number | null } {
    this.#db.run(sql.iteration.forgetOld, now - KEPT_MS)
    const row = this.#db.first<{ cancelled: number | null }>(sql.iteration.save, jid, executions, runtime, cursor, now)
    return { overtaken: row === undefined, cancelled: row?.cancelled ?? null }
  }

  cancel(jid: string, now: number): boolean {
    this.#db.run(sql.iteration.forgetOld, now - KEPT_MS)
    return this.#db.first(sql.iteration.cancel, jid, now - (now % 1000), now) !== undefined
  }

  change({ jid, state }: IterationEffect, now: number): void {
    if (state) this.saveUnlessOvertaken(jid, state, now)
    else this.#db.run(sql.iteration.drop, jid)
  }
}
