/** An ordered queue and its shards, as one operation reads and changes them. They are written once, by `close`. */

import type { WaitingPosition } from '../../sql/ordered-waiting.ts'
import type { Database } from '../file/database.ts'
import { sql } from '../sql.generated.ts'

export interface QueueRow {
  id: number
  shards: number
  from: number | null
  reshardAfter: string | null
  paused: number
  /** Grows with each change that waiting owners must see. */
  version: number
  morgue: number
}

export interface Shard {
  shard: number
  /** 0: no owner. */
  owner: number
  token: number
  busy: number
  fresh: number
  retries: number
  processed: number
  failed: number
  /** The number of the last fetch. */
  fetchNumber: number
  /** 1: a suspect is in flight. */
  alone: number
  /** When the next id is due, as its owner knows; in whole milliseconds, which JSON keeps exactly. */
  nextDue: number | null
}

export class OpenQueue {
  readonly name: string
  readonly queue: QueueRow
  readonly #db: Database
  readonly #shards = new Map<number, Shard>()
  readonly #changed = new Set<Shard>()
  #queueChanged = false

  private constructor(db: Database, name: string, queue: QueueRow) {
    this.name = name
    this.queue = queue
    this.#db = db
  }

  /** undefined: there is no such queue. */
  static open(db: Database, name: string): OpenQueue | undefined {
    const row = db.first<QueueRow>(sql.ordered.find, name)
    return row && new OpenQueue(db, name, row)
  }

  get id(): number {
    return this.queue.id
  }

  /** The number of shards that may have ids. */
  get width(): number {
    return Math.max(this.queue.shards, this.queue.from ?? 0)
  }

  /** Returns a shard for reading; undefined: there never was one of this number. */
  readShard(number: number): Shard | undefined {
    let shard = this.#shards.get(number)
    if (!shard) {
      shard = this.#db.first<Shard>(sql.ordered.shard, this.id, number)
      if (shard) this.#shards.set(number, shard)
    }
    return shard
  }

  /** Returns a shard for changing. */
  changeShard(number: number): Shard {
    const shard = this.readShard(number)
    if (!shard) throw new RangeError(`the ordered queue ${this.name} has no shard ${number}`)
    this.#changed.add(shard)
    return shard
  }

  changeQueue(change: Partial<QueueRow>): void {
    Object.assign(this.queue, change)
    this.#queueChanged = true
  }

  /** Counts an id that waits from now on. */
  addWaiting({ shard, inFlight, performIn, retryCount }: WaitingPosition): void {
    if (inFlight) return
    const row = this.changeShard(shard)
    if (retryCount < 0) row.fresh++
    else row.retries++
    this.dueAt(row, performIn)
  }

  /** Counts many ids without failures that are not in flight. Reads a shard only if an id is due earlier than known. */
  addFresh(rows: readonly WaitingPosition[]): void {
    const counts = new Map<number, { n: number; earliest: WaitingPosition }>()
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
      const shard = this.changeShard(number)
      shard.fresh += n
      this.dueAt(shard, earliest.performIn)
    }
  }

  /** Counts an id that waits no longer. */
  removeWaiting({ shard, inFlight, retryCount }: WaitingPosition): void {
    if (inFlight) return
    const row = this.changeShard(shard)
    if (retryCount < 0) row.fresh--
    else row.retries--
  }

  /** Notes when an id is due, and notifies waiting owners if that is earlier than known. */
  dueAt(shard: Shard, performIn: number): void {
    const at = knownOf(performIn)
    if (shard.nextDue !== null && shard.nextDue <= at) return
    shard.nextDue = at
    this.#changed.add(shard)
    this.notify()
  }

  /** Stores when the next id is due, which the owner of the shard gets in the answer. */
  setNextDue(shard: Shard, performIn: number | null): void {
    const at = performIn === null ? null : knownOf(performIn)
    if (shard.nextDue === at) return
    shard.nextDue = at
    this.#changed.add(shard)
  }

  /** Wakes the owners that wait. */
  notify(): void {
    this.#db.notify(queueChannel(this.name))
    this.queue.version++
    this.#queueChanged = true
  }

  close(): void {
    if (this.#queueChanged) {
      const { id, shards, from, reshardAfter, paused, version, morgue } = this.queue
      this.#db.run(sql.ordered.change, id, shards, from, reshardAfter, paused, version, morgue)
    }
    for (const s of this.#changed) {
      const counts = [s.busy, s.fresh, s.retries, s.processed, s.failed, s.fetchNumber, s.alone, s.nextDue]
      this.#db.run(sql.ordered.changeShard, this.id, s.shard, s.owner, s.token, ...counts)
    }
  }
}

function knownOf(performIn: number): number {
  const ms = Math.floor(performIn * 1000)
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, ms))
}

/**
 * Returns the first token or fetch number of a queue: above those of all deleted queues, even when the clock was set
 * back.
 */
export function nextNumber(db: Database): number {
  return (db.first<{ number: number }>(sql.ordered.nextNumber, Date.now()) as { number: number }).number
}

/** Returns the channel on which waiting owners are notified. */
export function queueChannel(queue: string): string {
  return `ordered ${queue}`
}
