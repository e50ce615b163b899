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

  /** False: it was overtaken. */
  save(jid: string, { executions, runtime, cursor }: IterationState, now: number): boolean {
    this.#db.run(sql.iteration.forgetOld, now - KEPT_MS)
    return this.#db.first(sql.iteration.save, jid, executions, runtime, cursor, now) !== undefined
  }

  change({ jid, state }: IterationEffect, now: number): void {
    if (state) this.save(jid, state, now)
    else this.#db.run(sql.iteration.drop, jid)
  }
}
