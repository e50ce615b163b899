/** Limits: their slots, their rates, and when the jobs that wait for them may have room. */

import { openRate, type Rate } from '../../contract/rates.ts'
import {
  type AwaitLimitEffect,
  type DueLimits,
  type Limit,
  type LimitAnswer,
  type LimitNumbers,
  type LimitStore,
  LONGEST_CHECK_MS,
  type ReleaseSlotEffect,
  type SetLimit,
  SHORTEST_CHECK_MS,
  SLOT_CHECK_MS,
  withNumbers,
  withoutKey,
  withUnused,
} from '../../contract.ts'
import { DUE_CHANNEL } from '../../sql/job-sets.ts'
import { monotonicMicros } from '../file/clock.ts'
import type { Database } from '../file/database.ts'
import { ANSWER_SECONDS, SqliteArea } from '../file/store-file.ts'
import { sql } from '../sql.generated.ts'
import { nextVersion } from './cancellations.ts'
import { JobSets } from './job-sets.ts'

export class SqliteLimitStore extends SqliteArea implements LimitStore {
  readonly change: LimitStore['change'] = (name, change) =>
    this.file.write((db) => {
      const before = numbersOf(db, name)
      const numbers = Object.entries({ ...before, ...change }).filter(([, value]) => value !== null)
      const { count, burst }: LimitNumbers = Object.fromEntries(numbers)
      if (burst !== undefined && count === undefined) return false
      if (numbers.length > 0) replaceNumbers(db, name, Object.fromEntries(numbers))
      else if (before) resetNumbers(db, name)
      return true
    }, ANSWER_SECONDS)

  readonly reset: LimitStore['reset'] = (name) => this.file.write((db) => resetNumbers(db, name), ANSWER_SECONDS)

  readonly add: LimitStore['add'] = ({ name, numbers }) =>
    this.file.write((db) => {
      if (numbersOf(db, name)) return false
      replaceNumbers(db, name, numbers)
      return true
    }, ANSWER_SECONDS)

  readonly allSet: LimitStore['allSet'] = () => this.file.read(allSet)

  readonly acquire: LimitStore['acquire'] = (name, requests) =>
    this.file.write((db) => {
      const owner = db.first<{ owner: number }>(sql.owner.current, name)?.owner
      if (owner === undefined) return requests.map(() => ({ over: 0, ms: 1 }))
      const call = new LimitCall(db)
      const answers = requests.map(({ ticket, limits }) => call.acquire(owner, holderOf(name, ticket), limits))
      call.save()
      return answers
    }, ANSWER_SECONDS)

  readonly release: LimitStore['release'] = (slot) => this.file.write((db) => releaseSlot(db, slot), ANSWER_SECONDS)

  readonly due: LimitStore['due'] = async (n) => {
    const idle = await this.file.readAtOnce((db) => {
      const now = monotonicMicros()
      if (db.first(sql.limit.oldRate, now) || dueSpecs(db, now, 1).length > 0) return undefined
      return { limits: [], nextMs: nextMs(db, now) }
    })
    return idle ?? this.file.write((db) => checkDue(db, n))
  }

  readonly postpone: LimitStore['postpone'] = (names, ms) =>
    this.file.write((db) => {
      const at = monotonicMicros() + ms * 1000
      for (const name of names) db.run(sql.limit.checkAt, at, name)
    })

  readonly releaseOrphanedSlots: LimitStore['releaseOrphanedSlots'] = async () => {
    if (!(await this.file.read((db) => db.first(sql.limit.hasOrphaned)))) return
    await this.file.write((db) => {
      const released = db.all<{ name: string }>(sql.limit.dropAllOrphaned)
      for (const name of new Set(released.map((slot) => slot.name))) checkOrDelete(db, JSON.parse(name))
    })
  }

  readonly list: LimitStore['list'] = (names) =>
    this.file.readAtOnce((db) => {
      type Row = { spec: string; used: number; waiting: number }
      const rows = names ? names.flatMap((name) => db.all<Row>(sql.limit.listOne, name)) : db.all<Row>(sql.limit.list)
      const call = new LimitCall(db)
      const inUse = rows.filter(({ used, waiting }) => used + waiting > 0)
      const states = inUse.map(({ spec, used, waiting }) => {
        const code: Limit = JSON.parse(spec)
        const set = call.numbersOf(code.name)
        const limit = withNumbers(code, set)
        const roomMs = limit.count > 0 ? call.msUntilStart(limit) : null
        return { ...limit, ...(set ? { set, code } : {}), used, waiting, roomMs }
      })
      return withUnused(states, names ? [] : allSet(db))
    })
}

function allSet(db: Database): SetLimit[] {
  const rows = db.all<{ name: string; numbers: string }>(sql.limit.allSet)
  return rows.map(({ name, numbers }) => ({ name, numbers: JSON.parse(numbers) }))
}

function numbersOf(db: Database, name: string): LimitNumbers | undefined {
  const row = db.first<{ numbers: string }>(sql.limit.numbersOf, name)
  return row && JSON.parse(row.numbers)
}

function replaceNumbers(db: Database, name: string, numbers: LimitNumbers): void {
  db.run(sql.limit.setNumbers, name, JSON.stringify(numbers))
  afterChange(db, name)
}

/** Returns false when no numbers were set. */
function resetNumbers(db: Database, name: string): boolean {
  if (db.run(sql.limit.resetNumbers, name) === 0) return false
  afterChange(db, name)
  return true
}

function afterChange(db: Database, name: string): void {
  nextVersion(db, 0)
  if (db.all(sql.limit.checkAllNow, monotonicMicros(), name).length > 0) db.notify(DUE_CHANNEL)
}

/**
 * Releases the slot of an attempt, and checks the limit: an attempt that moved because it had room and ended without a slot
 * leaves this room to the next job.
 */
export function releaseSlot(db: Database, { limit, owner, ticket }: Omit<ReleaseSlotEffect, 'kind'>): void {
  db.run(sql.limit.release, limit, holderOf(owner, ticket))
  checkOrDelete(db, limit)
}

function checkOrDelete(db: Database, limit: string): void {
  if (!checkNow(db, limit)) db.run(sql.limit.dropIfUnused, limit)
}

/** Checks a limit at once. Returns false when no job waits for it. */
function checkNow(db: Database, limit: string): boolean {
  const isAwaited = db.run(sql.limit.checkNow, monotonicMicros(), limit) > 0
  if (isAwaited) db.notify(DUE_CHANNEL)
  return isAwaited
}

/** Notes that a job waits for room in a limit. If it is the first one, the limit is checked now. */
export function awaitLimit(db: Database, { limit }: AwaitLimitEffect): void {
  if (db.first(sql.limit.await, limit.name, JSON.stringify(limit), monotonicMicros())) db.notify(DUE_CHANNEL)
}

function holderOf(owner: string, ticket: string): string {
  return `${owner} ${ticket}`
}

function dueSpecs(db: Database, now: number, n: number): { spec: string; nextCheck: number }[] {
  return db.all(sql.limit.due, now, now + LONGEST_CHECK_MS * 1000, n)
}

function nextMs(db: Database, now: number): number | null {
  const at = db.first<{ nextCheck: number | null }>(sql.limit.nextCheck)?.nextCheck ?? null
  return at === null ? null : Math.max((at - now) / 1000, 0)
}

function checkDue(db: Database, n: number): DueLimits {
  const call = new LimitCall(db)
  db.run(sql.limit.dropRates, call.now)
  const limits: DueLimits['limits'] = []
  for (const { spec, nextCheck } of dueSpecs(db, call.now, n)) {
    const limit = call.limitOf(JSON.parse(spec))
    const room = call.checkWaiting(limit, nextCheck)
    if (room > 0) limits.push({ name: limit.name, room })
  }
  call.save()
  return { limits, nextMs: nextMs(db, call.now) }
}

/** One call, at one time: the rates that it reads, and writes at its end. */
class LimitCall {
  readonly now = monotonicMicros()
  readonly #db: Database
  readonly #rates = new Map<string, Rate>()
  readonly #seen = new Set<string>()
  readonly #changed = new Set<string>()
  /** The numbers that were set, by the name of the limit without a key. */
  readonly #numbers = new Map<string, LimitNumbers | undefined>()

  constructor(db: Database) {
    this.#db = db
  }

  /** Returns a limit of the code with its effective numbers. */
  limitOf(code: Limit): Limit {
    return withNumbers(code, this.numbersOf(code.name))
  }

  numbersOf(limit: string): LimitNumbers | undefined {
    const name = withoutKey(limit)
    if (!this.#numbers.has(name)) this.#numbers.set(name, numbersOf(this.#db, name))
    return this.#numbers.get(name)
  }

  acquire(owner: number, holder: string, codes: readonly Limit[]): LimitAnswer {
    for (const code of codes) this.#noteSpec(code)
    const limits = codes.map((code) => this.limitOf(code))
    const isSet = limits.some(({ max }, i) => max !== codes[i]?.max)
    return { ...this.#acquire(owner, holder, codes, limits), ...(isSet ? { slots: limits.map(({ max }) => max) } : {}) }
  }

  #acquire(owner: number, holder: string, codes: readonly Limit[], limits: readonly Limit[]): LimitAnswer {
    for (const [over, limit] of limits.entries()) {
      const ms = this.#msUntilRoom(limit, holder)
      if (ms === 0) continue
      // If this job has moved because another of its limits had room, the next one that waits there may have the room.
      for (const other of limits) if (other !== limit) checkNow(this.#db, other.name)
      return { over, ms }
    }
    for (const [i, { max }] of limits.entries()) if (max > 0) this.#acquireSlot(codes[i] as Limit, owner, holder)
    const rated = limits.filter(({ count }) => count > 0)
    const start = Math.max(this.now, ...rated.map((limit) => this.#rateOf(limit).start))
    for (const limit of rated) {
      this.#changed.add(limit.name)
      this.#rateOf(limit).reserve(start)
    }
    return { over: null, ms: (start - this.now) / 1000 }
  }

  save(): void {
    for (const name of this.#changed) {
      const rate = this.#rates.get(name) as Rate
      this.#db.run(sql.limit.saveRate, name, String(rate), rate.until)
    }
  }

  /** Returns how many of the waiting jobs have room, and plans the next check. `checkAt` is the time of this one. */
  checkWaiting(limit: Limit, checkAt: number): number {
    const { name } = limit
    const waiting = this.#db.get(JobSets).size(`limited:${name}`)
    if (waiting === 0) {
      this.#db.run(sql.limit.setCheck, null, name)
      this.#db.run(sql.limit.dropEmptySet, `limited:${name}`)
      this.#db.run(sql.limit.dropIfUnused, name)
      return 0
    }
    const free = limit.max > 0 ? this.#freeSlots(limit) : Number.POSITIVE_INFINITY
    const rate = limit.count > 0 ? this.#rateOf(limit) : undefined
    const rateRoom = rate?.roomOfWaiting(checkAt) ?? waiting
    const room = Math.min(free, waiting, rateRoom)
    const nextOfRate = rate?.addMoved(room) ?? 0
    // Without a free slot the next one that is released ends the wait.
    const ms = room === free && room < waiting ? SLOT_CHECK_MS : SHORTEST_CHECK_MS
    const next = room === rateRoom ? nextOfRate : 0
    const at = Math.ceil(Math.min(Math.max(this.now + ms * 1000, next), this.now + LONGEST_CHECK_MS * 1000))
    rate?.planCheck(at)
    if (rate) this.#changed.add(name)
    this.#db.run(sql.limit.setCheck, at, name)
    return room
  }

  /** A deploy may have changed a limit that jobs wait for. */
  #noteSpec(limit: Limit): void {
    if (this.#seen.has(limit.name)) return
    this.#seen.add(limit.name)
    this.#db.run(sql.limit.change, limit.name, JSON.stringify(limit), this.now)
  }

  /** Returns 0 when the limit has room for an attempt. */
  #msUntilRoom(limit: Limit, holder: string): number {
    if (limit.max > 0 && this.#freeSlots(limit) === 0 && !this.#db.first(sql.limit.holds, limit.name, holder)) {
      return SLOT_CHECK_MS
    }
    return limit.count > 0 ? this.msUntilStart(limit) : 0
  }

  /** Returns the time until the rate of a limit has room; 0: it has. */
  msUntilStart(limit: Limit): number {
    const rate = this.#rateOf(limit)
    return rate.room === 0 ? Math.max((rate.nextFor(1) - this.now) / 1000, 1) : 0
  }

  #acquireSlot(limit: Limit, owner: number, holder: string): void {
    this.#db.run(sql.limit.take, limit.name, holder, owner)
    this.#db.run(sql.limit.use, limit.name, JSON.stringify(limit))
  }

  #freeSlots({ name, max }: Limit): number {
    const used = () => this.#db.first<{ used: number }>(sql.limit.used, name)?.used ?? 0
    if (used() >= max) this.#db.run(sql.limit.dropOrphaned, name)
    return Math.max(max - used(), 0)
  }

  #rateOf(limit: Limit): Rate {
    let rate = this.#rates.get(limit.name)
    if (!rate) {
      const state = this.#db.first<{ state: string }>(sql.limit.rate, limit.name)?.state ?? ''
      rate = openRate(limit, state, this.now)
      this.#rates.set(limit.name, rate)
      if (rate.wasAhead) this.#changed.add(limit.name)
    }
    return rate
  }
}
