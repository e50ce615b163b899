/** What one call knows of an ordered queue and its shards, and changes of them: read once, written once. */

import type { Database } from '../database.ts'
import { sql } from '../sql.generated.ts'

export interface QueueRow {
  id: number
  shards: number
  from: number | null
  swept: string | null
  paused: number
  news: number
  morgue: number
}

export interface Shard {
  shard: number
  /** 0: nobody. */
  owner: number
  token: number
  busy: number
  fresh: number
  retries: number
  processed: number
  failed: number
  /** The number of the last take. */
  take: number
  /** A suspect is in flight. */
  alone: number
  /** When its owner knows something to be due next, in whole milliseconds: they survive JSON. */
  known: number | null
}

/** Where something waits, or not any more. */
export interface Place {
  shard: number
  held: number
  performIn: number
  retryCount: number
}

export class OrderedBook {
  readonly name: string
  readonly queue: QueueRow
  readonly #db: Database
  readonly #rung: Set<string>
  readonly #shards = new Map<number, Shard>()
  readonly #changed = new Set<Shard>()
  #queueChanged = false

  private constructor(db: Database, rung: Set<string>, name: string, queue: QueueRow) {
    this.name = name
    this.queue = queue
    this.#db = db
    this.#rung = rung
  }

  /** undefined: there is no such queue. `rung` collects what to ring after the commit. */
  static open(db: Database, rung: Set<string>, name: string): OrderedBook | undefined {
    const row = db.first<QueueRow>(sql.ordered.find, name)
    return row && new OrderedBook(db, rung, name, row)
  }

  get id(): number {
    return this.queue.id
  }

  /** Shards that may hold something. */
  get width(): number {
    return Math.max(this.queue.shards, this.queue.from ?? 0)
  }

  /** For reading; undefined: there never was one of that number. */
  look(number: number): Shard | undefined {
    let shard = this.#shards.get(number)
    if (!shard) {
      shard = this.#db.first<Shard>(sql.ordered.shard, this.id, number)
      if (shard) this.#shards.set(number, shard)
    }
    return shard
  }

  /** For changing. */
  shard(number: number): Shard {
    const shard = this.look(number)
    if (!shard) throw new RangeError(`the ordered queue ${this.name} has no shard ${number}`)
    this.#changed.add(shard)
    return shard
  }

  changeQueue(change: Partial<QueueRow>): void {
    Object.assign(this.queue, change)
    this.#queueChanged = true
  }

  /** Something waits from now on. */
  waits({ shard, held, performIn, retryCount }: Place): void {
    if (held) return
    const row = this.shard(shard)
    if (retryCount < 0) row.fresh++
    else row.retries++
    this.soon(row, performIn)
  }

  /** Many that are fresh and not held. Nothing but counts is read or written where none of them is news. */
  waitFresh(rows: readonly Place[]): void {
    const counts = new Map<number, { n: number; earliest: Place }>()
    for (const row of rows) {
      const count = counts.get(row.shard)
      if (!count) counts.set(row.shard, { n: 1, earliest: row })
      else {
        count.n++
        if (row.performIn < count.earliest.performIn) count.earliest = row
      }
    }
    for (const [number, { n, earliest }] of counts) {
      const at = knownOf(earliest.performIn)
      if (!this.#shards.has(number) && this.#db.run(sql.ordered.growShard, this.id, number, n, at) > 0) continue
      const shard = this.shard(number)
      shard.fresh += n
      this.soon(shard, earliest.performIn)
    }
  }

  /** It does not any more. */
  leaves({ shard, held, retryCount }: Place): void {
    if (held) return
    const row = this.shard(shard)
    if (retryCount < 0) row.fresh--
    else row.retries--
  }

  /** Something is due then: who waits is told if that is earlier than what it knows. */
  soon(shard: Shard, performIn: number): void {
    const at = knownOf(performIn)
    if (shard.known !== null && shard.known <= at) return
    shard.known = at
    this.#changed.add(shard)
    this.ring()
  }

  /** Its owner is told when the next one is due. */
  tell(shard: Shard, performIn: number | null): void {
    const at = performIn === null ? null : knownOf(performIn)
    if (shard.known === at) return
    shard.known = at
    this.#changed.add(shard)
  }

  /** Who waits should look. */
  ring(): void {
    if (!this.#rung.has(topicOf(this.name))) this.#rung.add(topicOf(this.name))
    this.queue.news++
    this.#queueChanged = true
  }

  close(): void {
    if (this.#queueChanged) {
      const { id, shards, from, swept, paused, news, morgue } = this.queue
      this.#db.run(sql.ordered.change, id, shards, from, swept, paused, news, morgue)
    }
    for (const s of this.#changed) {
      const counts = [s.busy, s.fresh, s.retries, s.processed, s.failed, s.take, s.alone, s.known]
      this.#db.run(sql.ordered.changeShard, this.id, s.shard, s.owner, s.token, ...counts)
    }
  }
}

function knownOf(performIn: number): number {
  const ms = Math.floor(performIn * 1000)
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, ms))
}

/**
 * Returns the first token or take number of a queue: above those of all deleted queues, even when the clock was set
 * back.
 */
export function nextNumber(db: Database): number {
  return (db.first<{ number: number }>(sql.ordered.nextNumber, Date.now()) as { number: number }).number
}

/** Rung when those who wait for a queue should look. */
export function topicOf(queue: string): string {
  return `ordered ${queue}`
}
