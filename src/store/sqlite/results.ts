/** What became of jobs whose results are kept: a text each, for a while. */

import type { Database } from './database.ts'
import { sql } from './sql.generated.ts'

export class Results {
  readonly #db: Database
  readonly #rung: Set<string>

  constructor(db: Database, rung: Set<string>) {
    this.#db = db
    this.#rung = rung
  }

  keep(jid: string, text: string, seconds: number): void {
    const now = Date.now()
    this.#db.run(sql.result.forget, now)
    this.#db.run(sql.result.keep, jid, text, now + Math.ceil(seconds * 1000))
    this.#rung.add(topicOf(jid))
  }

  /** Keeps a value of its own kind, unless there is another one than `instead`: that is the answer. */
  remember(key: string, value: string, seconds: number, instead?: string): string | null {
    const now = Date.now()
    this.#db.run(sql.result.forgetMemory, now)
    const found = this.#db.first<{ value: string }>(sql.result.remembered, key)
    if (found && found.value !== instead) return found.value
    this.#db.run(sql.result.remember, key, value.toWellFormed(), now + Math.ceil(seconds * 1000))
    return null
  }

  find(jid: string): string | null {
    return this.#db.first<{ text: string }>(sql.result.find, jid, Date.now())?.text ?? null
  }
}

/** Rung when a job's result is there. */
export function topicOf(jid: string): string {
  return `result ${jid}`
}
