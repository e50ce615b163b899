/** Limits: their slots, their rates, and when the jobs that wait for them may have room. */

import {
  type AwaitLimitEffect,
  type Limit,
  type LimitNumbers,
  type LimitStore,
  LONGEST_CHECK_MS,
  MOST_CANCELLERS,
  type ReleaseSlotEffect,
  type SetLimit,
  withUnused,
} from '../../contract.ts'
import { DUE_CHANNEL } from '../../sql/job-sets.ts'
import { columns } from '../server/columns.ts'
import type { Database } from '../server/database.ts'
import { isMaybeStored } from '../server/errors.ts'
import { ANSWER_SECONDS, PostgresArea } from '../server/store-server.ts'
import { sql } from '../sql.generated.ts'
import { holderOf, LimitCall } from './limit-call.ts'

export class PostgresLimitStore extends PostgresArea implements LimitStore {
  readonly change: LimitStore['change'] = (name, change) =>
    this.server.write(async (db) => {
      const before = await numbersOf(db, name)
      const numbers = Object.entries({ ...before, ...change }).filter(([, value]) => value !== null)
      const { count, burst }: LimitNumbers = Object.fromEntries(numbers)
      if (burst !== undefined && count === undefined) return false
      if (numbers.length > 0) await replaceNumbers(db, name, Object.fromEntries(numbers))
      else if (before) await resetNumbers(db, name)
      return true
    }, ANSWER_SECONDS)

  readonly reset: LimitStore['reset'] = (name) => this.server.write((db) => resetNumbers(db, name), ANSWER_SECONDS)

  readonly add: LimitStore['add'] = ({ name, numbers }) =>
    this.server.write(async (db) => {
      if (await numbersOf(db, name)) return false
      await replaceNumbers(db, name, numbers)
      return true
    }, ANSWER_SECONDS)

  readonly allSet: LimitStore['allSet'] = () => this.server.runOne(allSet)

  readonly acquire: LimitStore['acquire'] = async (name, requests) => {
    const names = requests.flatMap(({ limits }) => limits.map((limit) => limit.name))
    const holders = requests.map(({ ticket }) => holderOf(name, ticket))
    const acquire = () =>
      this.server.write(async (db) => {
        const call = await LimitCall.open(db, names, { name, holders })
        if (!call.hasOwner) return requests.map(() => ({ over: 0, ms: 1 }))
        const answers = requests.map(({ limits }, i) => call.acquire(holders[i] as string, limits))
        await call.save()
        return answers
      }, ANSWER_SECONDS)
    try {
      return await acquire()
    } catch (thrown) {
      // The attempts may have slots, and get the same ones when they ask again.
      if (isMaybeStored(thrown)) return await acquire()
      throw thrown
    }
  }

  readonly release: LimitStore['release'] = (slot) =>
    this.server.write((db) => releaseSlots(db, [slot]), ANSWER_SECONDS)

  readonly due: LimitStore['due'] = async (n) => {
    const { now, next, isDue } = await this.server.runOne(nextCheck)
    if (!isDue) return { limits: [], nextMs: msUntil(next, now) }
    return await this.server.write(async (db) => {
      const names = await db.all<{ name: string }>(sql.limit.due, LONGEST_CHECK_MS * 1000, n)
      const call = await LimitCall.open(
        db,
        names.map(({ name }) => name),
      )
      const limits = names.map(({ name }) => ({ name, room: call.checkWaiting(name) }))
      await call.save()
      return { limits: limits.filter(({ room }) => room > 0), nextMs: msUntil((await nextCheck(db)).next, call.now) }
    })
  }

  readonly postpone: LimitStore['postpone'] = (names, ms) =>
    this.server.write(async (db) => void (await db.run(sql.limit.postpone, Math.ceil(ms * 1000), names)))

  readonly releaseOrphanedSlots: LimitStore['releaseOrphanedSlots'] = async () => {
    if (!(await this.server.runOne((db) => db.first(sql.limit.hasOld)))) return
    await this.server.write(async (db) => {
      notifyIfAny(db, await db.all(sql.limit.releaseOrphaned))
      await db.run(sql.limit.dropUnused)
    })
  }

  readonly list: LimitStore['list'] = (only) =>
    this.server.read(async (db) => {
      const names = only ?? (await db.all<{ name: string }>(sql.limit.names)).map(({ name }) => name)
      const call = await LimitCall.open(db, names)
      const inUse = names.map((name) => call.stateOf(name)).filter(({ used, waiting }) => used + waiting > 0)
      return withUnused(inUse, only ? [] : await allSet(db))
    })
}

async function allSet(db: Database): Promise<SetLimit[]> {
  const rows = await db.all<{ name: string; numbers: string }>(sql.limit.allSet)
  return rows.map(({ name, numbers }) => ({ name, numbers: JSON.parse(numbers) }))
}

async function numbersOf(db: Database, name: string): Promise<LimitNumbers | undefined> {
  const row = await db.first<{ numbers: string }>(sql.limit.numbersOf, name)
  return row && JSON.parse(row.numbers)
}

async function replaceNumbers(db: Database, name: string, numbers: LimitNumbers): Promise<void> {
  await db.run(sql.limit.setNumbers, name, JSON.stringify(numbers))
  await afterChange(db, name)
}

/** Returns false when no numbers were set. */
async function resetNumbers(db: Database, name: string): Promise<boolean> {
  if ((await db.run(sql.limit.resetNumbers, name)) === 0) return false
  await afterChange(db, name)
  return true
}

async function afterChange(db: Database, name: string): Promise<void> {
  await db.run(sql.cancellation.raise, MOST_CANCELLERS)
  notifyIfAny(db, await db.all(sql.limit.checkAllNow, name))
}

/** All times are in microseconds. */
interface NextCheck {
  now: number
  /** null: no job waits. */
  next: number | null
  /** Whether `due` has something to do now. */
  isDue: boolean
}

async function nextCheck(db: Database): Promise<NextCheck> {
  return (await db.first<NextCheck>(sql.limit.nextCheck, LONGEST_CHECK_MS * 1000)) as NextCheck
}

function msUntil(at: number | null, now: number): number | null {
  return at === null ? null : Math.max((at - now) / 1000, 0)
}

/**
 * Releases slots of attempts, and checks their limits: an attempt that moved because it had room and ended without a slot
 * leaves this room to the next job. A limit that is not in use any more stays stored until `releaseOrphanedSlots`.
 */
export async function releaseSlots(db: Database, slots: readonly Omit<ReleaseSlotEffect, 'kind'>[]): Promise<void> {
  const values = columns(
    slots,
    ({ limit }) => limit,
    ({ owner, ticket }) => holderOf(owner, ticket),
  )
  notifyIfAny(db, await db.all(sql.limit.release, ...values))
}

/** Notes that jobs wait for room in limits. Those for which none has waited are checked now. */
export async function awaitLimits(db: Database, effects: readonly AwaitLimitEffect[]): Promise<void> {
  // The first job that waits for a limit decides.
  const limits = new Map<string, Limit>()
  for (const { limit } of effects) if (!limits.has(limit.name)) limits.set(limit.name, limit)
  const specs = Array.from(limits.values(), (limit) => JSON.stringify(limit))
  notifyIfAny(db, await db.all(sql.limit.await, [...limits.keys()], specs))
}

/** Wakes those who wait for due jobs, if jobs wait for one of these limits. */
function notifyIfAny(db: Database, limits: readonly unknown[]): void {
  if (limits.length > 0) db.notify(DUE_CHANNEL)
}
