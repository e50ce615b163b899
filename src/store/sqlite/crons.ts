/** What runs by the clock. */

import type { CronDefinition, CronRecord } from '../contract.ts'
import { bootId, isPast, monotonicNow } from './clock.ts'
import type { Database } from './database.ts'
import { sql } from './sql.generated.ts'

interface CronRow {
  name: string
  text: string
  tick: number
  paused: number
  jid: string | null
  pushed_at: number | null
  boot: string
  ends: number
}

/** Nobody says that he lives for longer than this. */
const MAX_SECONDS = 3600

export class Crons {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  list(names?: readonly string[]): CronRecord[] {
    const rows = names
      ? this.#db.all<CronRow>(sql.cron.some, JSON.stringify(names))
      : this.#db.all<CronRow>(sql.cron.list)
    return rows.map(({ name, text, tick, paused, jid, pushed_at, boot, ends }) => ({
      name,
      text,
      tick,
      paused: paused === 1,
      alive: !isPast(ends, boot, MAX_SECONDS),
      jid,
      pushedAt: pushed_at,
    }))
  }

  find(name: string): CronRow | undefined {
    return this.#db.first<CronRow>(sql.cron.find, name)
  }

  define(name: string, { old, text, tick }: CronDefinition, seconds: number): boolean {
    const ends = monotonicNow() + Math.round(seconds * 1000)
    if (old === null) return this.#db.first(sql.cron.enter, name, text, tick, bootId, ends) !== undefined
    if (old === text) return this.#db.first(sql.cron.keep, bootId, ends, name, text) !== undefined
    return this.#db.first(sql.cron.change, text, tick, bootId, ends, name, old) !== undefined
  }

  pause(name: string, paused: boolean, now: number): boolean {
    const row = paused ? this.#db.first(sql.cron.pause, name) : this.#db.first(sql.cron.resume, now, name)
    return row !== undefined
  }

  forget(name: string): boolean {
    return this.#db.first(sql.cron.forget, name) !== undefined
  }

  unlock(lock: string, holder: string): void {
    this.#db.run(sql.lock.release, lock, holder)
  }
}
