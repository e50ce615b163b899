/** An ordered queue and its shards, as one operation reads and changes them. They are written once, by `close`. */

import { dueMs, type QueueRow, queueChannel, type ShardRow, type WaitingPosition } from '../../sql/ordered-rows.ts'
import type { Database, Value } from '../server/database.ts'
import { sql } from '../sql.generated.ts'

export interface Shard extends ShardRow {
  /** The ids that died when its owner acquired it, as JSON, until the owner has used its token. */
  died: string | null
}

/** The answer of the statement that opens a queue for an owner. */
export interface OwnersQueue {
  open: OpenQueue
  /** null: the owner has no lease. */
  ownerId: number | null
  /** Whether an id of any owner is in flight and cancelled. */
  hasCancelled: boolean
}

/** The answer of the statement that opens a queue for a push. */
export interface PushedQueue {
  open: OpenQueue
  /** The ids of the push that are in flight, and the ids that wait. */
  inFlight: ReadonlySet<string>
  waiting: ReadonlySet<string>
}

/** The values of a statement for more ids that wait in shards: the numbers of these, by how many, and when the first is due. */
export type Growth = [shards: number[], counts: number[], due: number[]]

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
  static async open(db: Database, name: string): Promise<OpenQueue | undefined> {
    const row = await db.first<QueueRow>(sql.ordered.find, name)
    return row && new OpenQueue(db, name, row)
  }

  /** Opens a queue for a step of an owner in these shards. undefined: there is no such queue. */
  static async openFor(
    db: Database,
    name: string,
    owner: string,
    shards: readonly number[],
  ): Promise<OwnersQueue | undefined> {
    type Found = QueueRow & Omit<OwnersQueue, 'open'> & { shardRows: Shard[] | null }
    const row = await db.first<Found>(sql.ordered.findFor, name, owner, shards)
    if (!row) return undefined
    const { ownerId, hasCancelled, shardRows, ...queue } = row
    const open = new OpenQueue(db, name, queue)
    for (const shard of shardRows ?? []) open.#shards.set(shard.shard, shard)
    return { open, ownerId, hasCancelled }
  }

  /** Opens a queue for a push of these ids. undefined: there is no such queue. */
  static async openAmong(db: Database, name: string, ids: readonly string[]): Promise<PushedQueue | undefined> {
    type Found = QueueRow & { inFlight: number[]; waiting: number[] }
    const row = await db.first<Found>(sql.ordered.findAmong, name, ids)
    if (!row) return undefined
    const { inFlight, waiting, ...queue } = row
    const setOf = (places: number[]) => new Set(places.map((place) => ids[place - 1] as string))
    return { open: new OpenQueue(db, name, queue), inFlight: setOf(inFlight), waiting: setOf(waiting) }
  }

  get id(): number {
    return this.queue.id
  }

  /** The number of shards that may have ids. */
  get width(): number {
    return Math.max(this.queue.shards, this.queue.from ?? 0)
  }

  /** Reads shards together. They need not be read one by one later. */
  async readShards(numbers: Iterable<number>): Promise<void> {
    const missing = [...new Set(numbers)].filter((number) => !this.#shards.has(number))
    if (missing.length === 0) return
    for (const shard of await this.#db.all<Shard>(sql.ordered.someShards, this.id, missing)) {
      this.#shards.set(shard.shard, shard)
    }
  }

  /** Returns a shard for reading; undefined: there never was one of this number. */
  async readShard(number: number): Promise<Shard | undefined> {
    await this.readShards([number])
    return this.#shards.get(number)
  }

  /** Returns a shard for changing. */
  async changeShard(number: number): Promise<Shard> {
    const shard = await this.readShard(number)
    if (!shard) throw new RangeError(`the ordered queue ${this.name} has no shard ${number}`)
    this.#changed.add(shard)
    return shard
  }

  changeQueue(change: Partial<QueueRow>): void {
    Object.assign(this.queue, change)
    this.#queueChanged = true
  }

  /** Counts ids that wait from now on. */
  async addWaiting(rows: readonly WaitingPosition[]): Promise<void> {
    const ready = rows.filter(({ inFlight }) => !inFlight)
    await this.readShards(ready.map(({ shard }) => shard))
    for (const { shard, performIn, retryCount } of ready) {
      const row = await this.changeShard(shard)
      if (retryCount < 0) row.fresh++
      else row.retries++
      this.dueAt(row, performIn)
    }
  }

  /** Counts ids without failures that wait from now on. Returns the growth of shards that are not read, for a statement. */
  async addFresh(rows: readonly WaitingPosition[]): Promise<Growth> {
    const counts = new Map<number, { n: number; earliest: WaitingPosition }>()
    for (const row of rows) {
      if (row.inFlight) continue
      const count = counts.get(row.shard)
      if (!count) counts.set(row.shard, { n: 1, earliest: row })
      else {
        count.n++
        if (row.performIn < count.earliest.performIn) count.earliest = row
      }
    }
    const growth: Growth = [[], [], []]
    for (const [number, { n, earliest }] of counts) {
      if (this.#shards.has(number)) {
        const shard = await this.changeShard(number)
        shard.fresh += n
        this.dueAt(shard, earliest.performIn)
      } else {
        const [numbers, ns, due] = growth
        numbers.push(number)
        ns.push(n)
        due.push(dueMs(earliest.performIn))
      }
    }
    return growth
  }

  /** Counts ids that wait no longer. */
  async removeWaiting(rows: readonly WaitingPosition[]): Promise<void> {
    const ready = rows.filter(({ inFlight }) => !inFlight)
    await this.readShards(ready.map(({ shard }) => shard))
    for (const { shard, retryCount } of ready) {
      const row = await this.changeShard(shard)
      if (retryCount < 0) row.fresh--
      else row.retries--
    }
  }

  /** Notes when an id is due, and notifies waiting owners if that is earlier than known. */
  dueAt(shard: Shard, performIn: number): void {
    const at = dueMs(performIn)
    if (shard.nextDue !== null && shard.nextDue <= at) return
    shard.nextDue = at
    this.#changed.add(shard)
    this.notify()
  }

  /** Stores when the next id is due, which the owner of the shard gets in the answer. */
  setNextDue(shard: Shard, performIn: number | null): void {
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

  async close(): Promise<void> {
    if (this.#queueChanged) {
      const { id, shards, from, reshardAfter, paused, version, morgue } = this.queue
      await this.#db.run(sql.ordered.change, id, shards, from, reshardAfter, paused, version, morgue)
    }
    if (this.#changed.size > 0) await this.#db.run(sql.ordered.changeShards, this.id, ...this.drainShards())
  }

  /** Returns the values of the changed shards for a statement that stores them. `close` does not store them then. */
  drainShards(): Value[] {
    const changed = [...this.#changed]
    this.#changed.clear()
    return SHARD_COLUMNS.map((name) => changed.map((shard) => shard[name]))
  }
}

/** The columns of the statements that store shards, in their order. */
const SHARD_COLUMNS = [
  ...(['shard', 'owner', 'token', 'busy', 'fresh', 'retries'] as const),
  ...(['processed', 'failed', 'fetchNumber', 'alone', 'nextDue', 'died'] as const),
]

/**
 * Returns the first token or fetch number of a queue: above those of all deleted queues, even when the clock was set
 * back.
 */
export async function nextNumber(db: Database): Promise<number> {
  return ((await db.first<{ number: number }>(sql.ordered.nextNumber, Date.now())) as { number: number }).number
}
