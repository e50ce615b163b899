/** Numbers for people. */

import type { StoreStats } from '../contract.ts'
import type { Database } from './database.ts'
import type { Sets } from './sets.ts'
import { sql } from './sql.generated.ts'

interface Total {
  processed: number
  failed: number
}

export class Stats {
  readonly #db: Database
  readonly #sets: Sets

  constructor(db: Database, sets: Sets) {
    this.#db = db
    this.#sets = sets
  }

  now(): StoreStats {
    const ready = this.#db.first<{ enqueued: number; held: number }>(sql.look.totals)
    const taken = this.#db.first<{ n: number }>(sql.owner.countTaken)
    return {
      ...this.#of(''),
      enqueued: ready?.enqueued ?? 0,
      backlog: ready?.held ?? 0,
      fetched: taken?.n ?? 0,
      scheduled: this.#sets.size('schedule'),
      retries: this.#sets.size('retry'),
      dead: this.#sets.size('dead'),
    }
  }

  reset(which: 'processed' | 'failed'): void {
    this.#db.run(sql.look.reset, which === 'processed' ? 0 : 1, which === 'failed' ? 0 : 1)
  }

  history(days: readonly string[]): Total[] {
    return days.map((day) => this.#of(day))
  }

  /** Of a day `YYYY-MM-DD`; '': of all time. */
  #of(day: string): Total {
    const { processed = 0, failed = 0 } = this.#db.first<Total>(sql.look.day, day) ?? {}
    return { processed, failed }
  }
}
