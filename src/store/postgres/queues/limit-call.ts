/** One call, at one time, that gives out slots and starts of limits: it reads what it needs first, and writes at its end. */

import { openRate, type Rate } from '../../contract/rates.ts'
import {
  type Limit,
  type LimitAnswer,
  type LimitNumbers,
  type LimitState,
  LONGEST_CHECK_MS,
  SHORTEST_CHECK_MS,
  SLOT_CHECK_MS,
  withNumbers,
  withoutKey,
} from '../../contract.ts'
import { DUE_CHANNEL } from '../../sql/job-sets.ts'
import { columns } from '../server/columns.ts'
import type { Database } from '../server/database.ts'
import { sql } from '../sql.generated.ts'

interface Row {
  now: number
  owner: number | null
  /** null: the call has no limits. */
  name: string | null
  spec: string | null
  nextCheck: number | null
  numbers: string | null
  state: string | null
  used: number
  held: string[] | null
  waiting: number
}

interface CalledLimit {
  name: string
  /** The stored limit of the code; null: there is none. */
  spec: string | null
  /** When its waiting jobs may have room; null: no job waits. */
  nextCheck: number | null
  /** The numbers that were set. */
  numbers: LimitNumbers | undefined
  state: string
  rate: Rate | undefined
  used: number
  waiting: number
  /** The holders of its slots among those of the call. */
  held: Set<string>
}

/** Returns the name under which an attempt has its slots. */
export function holderOf(owner: string, ticket: string): string {
  return `${owner} ${ticket}`
}

export class LimitCall {
  /** The time of the call, in microseconds. */
  readonly now: number
  readonly #db: Database
  readonly #owner: number | null
  readonly #limits = new Map<string, CalledLimit>()
  readonly #seen = new Set<string>()
  /** What `save` writes. */
  readonly #slots: { name: string; holder: string }[] = []
  readonly #changed = new Set<CalledLimit>()
  readonly #changedRates = new Set<CalledLimit>()
  readonly #unawaited: string[] = []

  private constructor(db: Database, rows: readonly Row[]) {
    const [{ now, owner }] = rows as [Row]
    this.#db = db
    this.now = now
    this.#owner = owner
    for (const { name, numbers, state, held, ...row } of rows) {
      if (name === null) continue
      const set = numbers === null ? undefined : JSON.parse(numbers)
      const limit = { ...row, name, numbers: set, state: state ?? '', rate: undefined, held: new Set(held) }
      this.#limits.set(name, limit)
    }
  }

  /** Reads limits. An owner also needs the holders of its call. */
  static async open(
    db: Database,
    names: readonly string[],
    { name: owner, holders }: { name: string | null; holders: readonly string[] } = { name: null, holders: [] },
  ): Promise<LimitCall> {
    const each = [...new Set(names)]
    return new LimitCall(db, await db.all<Row>(sql.limit.load, each, each.map(withoutKey), holders, owner))
  }

  /** Whether the owner has a lease. */
  get hasOwner(): boolean {
    return this.#owner !== null
  }

  /** Gives an attempt a slot and a start of all its limits, or nothing. */
  acquire(holder: string, codes: readonly Limit[]): LimitAnswer {
    for (const code of codes) this.#noteSpec(code)
    const limits = codes.map((code) => withNumbers(code, this.#of(code).numbers))
    const isSet = limits.some(({ max }, i) => max !== codes[i]?.max)
    return { ...this.#acquire(holder, codes, limits), ...(isSet ? { slots: limits.map(({ max }) => max) } : {}) }
  }

  #acquire(holder: string, codes: readonly Limit[], limits: readonly Limit[]): LimitAnswer {
    for (const [over, limit] of limits.entries()) {
      const ms = this.#msUntilRoom(limit, holder)
      if (ms === 0) continue
      // If this job has moved because another of its limits had room, the next one that waits there may have the room.
      for (const other of limits) if (other !== limit) this.#checkNow(other)
      return { over, ms }
    }
    for (const [i, { max }] of limits.entries()) if (max > 0) this.#acquireSlot(codes[i] as Limit, holder)
    const rated = limits.filter(({ count }) => count > 0)
    const start = Math.max(this.now, ...rated.map((limit) => this.#rateOf(limit).start))
    for (const limit of rated) {
      this.#changedRates.add(this.#of(limit))
      this.#rateOf(limit).reserve(start)
    }
    return { over: null, ms: (start - this.now) / 1000 }
  }

  /** Returns how many of the waiting jobs have room, and plans the next check. */
  checkWaiting(name: string): number {
    const stored = this.#limits.get(name) as CalledLimit
    const { waiting, used } = stored
    if (waiting === 0) {
      this.#unawaited.push(name)
      return 0
    }
    const limit = withNumbers(JSON.parse(stored.spec as string), stored.numbers)
    const free = limit.max > 0 ? Math.max(limit.max - used, 0) : Number.POSITIVE_INFINITY
    const rate = limit.count > 0 ? this.#rateOf(limit) : undefined
    const rateRoom = rate?.roomOfWaiting(stored.nextCheck) ?? waiting
    const room = Math.min(free, waiting, rateRoom)
    const nextOfRate = rate?.addMoved(room) ?? 0
    // Without a free slot the next one that is released ends the wait.
    const ms = room === free && room < waiting ? SLOT_CHECK_MS : SHORTEST_CHECK_MS
    const next = room === rateRoom ? nextOfRate : 0
    const at = Math.ceil(Math.min(Math.max(this.now + ms * 1000, next), this.now + LONGEST_CHECK_MS * 1000))
    rate?.planCheck(at)
    stored.nextCheck = at
    this.#changed.add(stored)
    if (rate) this.#changedRates.add(stored)
    return room
  }

  /** Returns a stored limit as `LimitStore.list` does. */
  stateOf(name: string): LimitState {
    const { spec, numbers, used, waiting } = this.#limits.get(name) as CalledLimit
    const code: Limit = JSON.parse(spec as string)
    const limit = withNumbers(code, numbers)
    const roomMs = limit.count > 0 ? this.#msUntilStart(limit) : null
    return { ...limit, ...(numbers ? { set: numbers, code } : {}), used, waiting, roomMs }
  }

  /** Writes what has changed. */
  async save(): Promise<void> {
    const [slots, changed, rates] = [this.#slots, [...this.#changed], [...this.#changedRates]]
    if (slots.length + changed.length + rates.length > 0) {
      await this.#db.run(
        sql.limit.save,
        ...columns(
          slots,
          ({ name }) => name,
          ({ holder }) => holder,
        ),
        this.#owner,
        ...columns(
          changed,
          ({ name }) => name,
          ({ spec }) => spec,
          ({ nextCheck }) => nextCheck,
        ),
        ...columns(
          rates,
          ({ name }) => name,
          ({ rate }) => String(rate),
          ({ rate }) => (rate as Rate).until,
        ),
      )
    }
    const names = this.#unawaited
    const sets = names.map((name) => `limited:${name}`)
    if (names.length > 0) await this.#db.run(sql.limit.endWait, names, sets)
  }

  #of({ name }: Limit): CalledLimit {
    return this.#limits.get(name) as CalledLimit
  }

  /** A deploy may have changed a limit that jobs wait for. */
  #noteSpec(limit: Limit): void {
    if (this.#seen.has(limit.name)) return
    this.#seen.add(limit.name)
    const stored = this.#of(limit)
    if (stored.nextCheck === null || !this.#setSpec(stored, limit)) return
    stored.nextCheck = Math.min(stored.nextCheck, this.now)
  }

  /** Returns false if the limit is stored like this. */
  #setSpec(stored: CalledLimit, limit: Limit): boolean {
    const spec = JSON.stringify(limit)
    if (stored.spec === spec) return false
    stored.spec = spec
    this.#changed.add(stored)
    return true
  }

  /** Checks a limit at once, if jobs wait for it. */
  #checkNow(limit: Limit): void {
    const stored = this.#of(limit)
    if (stored.nextCheck === null) return
    this.#db.notify(DUE_CHANNEL)
    if (stored.nextCheck <= this.now) return
    stored.nextCheck = this.now
    this.#changed.add(stored)
  }

  /** Returns 0 when the limit has room for an attempt. */
  #msUntilRoom(limit: Limit, holder: string): number {
    const { used, held } = this.#of(limit)
    if (limit.max > 0 && used >= limit.max && !held.has(holder)) return SLOT_CHECK_MS
    return limit.count > 0 ? this.#msUntilStart(limit) : 0
  }

  /** Returns the time until the rate of a limit has room; 0: it has. */
  #msUntilStart(limit: Limit): number {
    const rate = this.#rateOf(limit)
    return rate.room === 0 ? Math.max((rate.nextFor(1) - this.now) / 1000, 1) : 0
  }

  #acquireSlot(limit: Limit, holder: string): void {
    const stored = this.#of(limit)
    this.#setSpec(stored, limit)
    if (stored.held.has(holder)) return
    stored.held.add(holder)
    stored.used++
    this.#slots.push({ name: limit.name, holder })
  }

  #rateOf(limit: Limit): Rate {
    const stored = this.#of(limit)
    if (!stored.rate) {
      stored.rate = openRate(limit, stored.state, this.now)
      if (stored.rate.wasAhead) this.#changedRates.add(stored)
    }
    return stored.rate
  }
}
