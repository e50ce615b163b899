/** An ordered queue and its shards, as one operation reads and changes them. They are written once, by `close`. */

import { dueMs, type QueueRow, queueChannel, type ShardRow, type WaitingPosition } from '../../sql/ordered-rows.ts'
import type { Database } from '../file/database.ts'
import { sql } from '../sql.generated.ts'

export class OpenQueue {
  readonly name: string
  readonly queue: QueueRow
  readonly #db: Database
  readonly #shards = new Map<number, ShardRow>()
  readonly #changed = new Set<ShardRow>()
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
  readShard(number: number): ShardRow | undefined {
    let shard = this.#shards.get(number)
    if (!shard) {
      shard = this.#db.first<ShardRow>(sql.ordered.shard, this.id, number)
      if (shard) this.#shards.set(number, shard)
    }
    return shard
  }

  /** Returns a shard for changing. */
  changeShard(number: number): ShardRow {
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
      const at = dueMs(earliest.performIn)
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
  dueAt(shard: ShardRow, performIn: number): void {
    const at = dueMs(performIn)
    if (shard.nextDue !== null && shard.nextDue <= at) return
    shard.nextDue = at
    this.#changed.add(shard)
    this.notify()
  }

  /** Stores when the next id is due, which the owner of the shard gets in the answer. */
  setNextDue(shard: ShardRow, performIn: number | null): void {
    const at = performIn === null ? null : dueMs(performIn)
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

/**
 * Returns the first token or fetch number of a queue: above those of all deleted queues, even when the clock was set
 * back.
 */
export function nextNumber(db: Database): number {
  return (db.first<{ number: number }>(sql.ordered.nextNumber, Date.now()) as { number: number }).number
}
