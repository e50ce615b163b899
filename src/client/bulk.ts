/** Plans a bulk push: the request of each row, when each is due, and how many are stored in one step. */

import { dueAt } from '../job/duration.ts'
import { invalidJob, invalidOption } from '../job/errors.ts'
import { isIterable } from '../job/json.ts'
import { refuseUnknown, shown } from '../job/options.ts'
import type { PushOptions, PushRequest } from './request.ts'
import type { TemplateCache } from './template.ts'

/** The most jobs that are stored in one step. */
export const BULK = 1000

export interface BulkOptions {
  /** When the jobs are due: one time for all, or one for each. A number below 1,000,000,000 means seconds from now. */
  at?: number | Date | readonly (number | Date)[]
  /** Spreads the jobs randomly over this many seconds from now, at least 5. */
  spreadInterval?: number
  /** An id for each job, in the order of the rows; a string is the id of a bulk of one job. See `set({ jid })`. */
  jid?: string | readonly string[] | undefined
  /** Jobs stored in one step: at most 1,000. Default 1,000, or 100 for jobs with times. */
  batchSize?: number
}

/** The argument lists of a bulk. */
export type Rows<Args extends unknown[] = unknown[]> = Iterable<Args> | AsyncIterable<Args>

export interface Bulk<Args extends unknown[] = unknown[]> {
  name: string
  rows: Rows<Args>
  options: BulkOptions
  /** Returns the push of a row, without its time; `own` has its jid. */
  requestOf(args: Args, own?: PushOptions): PushRequest
  /** Whether these pushes differ in nothing but their arguments. */
  isUniform: boolean
}

export interface BulkPlan {
  batchSize: number
  cache: TemplateCache | undefined
  /** Returns the push of the i-th row. @throws INVALID_JOB */
  request(args: unknown, i: number): PushRequest
  /** Call it after the last row. @throws INVALID_JOB */
  end(rows: number): void
}

interface Clock {
  now: () => number
  random: () => number
}

/** A value for each job of a bulk. */
interface Each<T> {
  /** Returns the value of the i-th job. @throws INVALID_JOB */
  of(i: number): T
  end(rows: number): void
}

const TIMED = 100
const LEAST_SPREAD = 5

/** @throws INVALID_JOB, INVALID_OPTION before anything is pushed, as far as it can be seen by then */
export function planBulk<Args extends unknown[]>(bulk: Bulk<Args>, clock: Clock): BulkPlan {
  const { name, rows, options } = bulk
  if (!isIterable(rows)) {
    throw invalidJob(
      `${name}: a bulk is an array (or another iterable) of lists of arguments: [['bob', 1], ['ann', 2]]`,
    )
  }
  refuseUnknown(`${name}: a bulk`, options, ['at', 'spreadInterval', 'batchSize', 'jid'])
  const times = timesOf(bulk, clock)
  const jids = jidsOf(bulk)
  const batchSize = options.batchSize ?? (times ? TIMED : BULK)
  if (!(Number.isInteger(batchSize) && batchSize >= 1 && batchSize <= BULK)) {
    throw invalidOption(`batchSize must be a whole number from 1 to ${BULK}`)
  }
  return {
    batchSize,
    cache: bulk.isUniform && !times && !jids ? {} : undefined,
    request(args, i) {
      if (!Array.isArray(args)) {
        throw invalidJob(`${name}: job ${i} of the bulk must be an array of arguments, such as [row]`)
      }
      const request = bulk.requestOf(args as Args, jids && { jid: jids.of(i) })
      // The time in seconds since the epoch.
      return times ? { ...request, at: times.of(i) } : request
    },
    end(n) {
      times?.end(n)
      jids?.end(n)
    },
  }
}

function timesOf(
  { name, rows, options }: Pick<Bulk, 'name' | 'rows' | 'options'>,
  { now, random }: Clock,
): Each<number> | undefined {
  const { at, spreadInterval } = options
  if (spreadInterval !== undefined) {
    if (at !== undefined) throw invalidJob(`${name}: give at or spreadInterval, not both`)
    if (!(Number.isFinite(spreadInterval) && spreadInterval > 0)) {
      throw invalidJob(`${name}: spreadInterval must be a number of seconds above 0`)
    }
    const seconds = Math.max(spreadInterval, LEAST_SPREAD)
    return { of: () => now() / 1000 + random() * seconds, end() {} }
  }
  if (at === undefined) return undefined
  if (isList(at)) {
    if (at.length === 0) throw invalidJob(`${name}: at is an empty array: give a time for each job, or leave it out`)
    const due = at.map((when) => timeOf(name, when, now()))
    return eachOf(
      rows,
      due,
      (n) => `${name}: at has ${at.length} times for ${n} jobs: give one for each, or one for all`,
    )
  }
  const due = timeOf(name, at, now())
  return { of: () => due, end() {} }
}

/** Returns the id of each job. @throws INVALID_JOB when they are not one for each, or not different */
function jidsOf({ name, rows, options: { jid } }: Pick<Bulk, 'name' | 'rows' | 'options'>): Each<string> | undefined {
  if (jid === undefined) return undefined
  if (typeof jid === 'string') {
    return eachOf(
      rows,
      [jid],
      () => `${name}: jid is one id, but the bulk does not have one job: give an array with an id for each job`,
    )
  }
  if (!Array.isArray(jid)) throw invalidJob(`${name}: jid must be a string, or an array with the id of each job`)
  const known = new Set<unknown>()
  const twice = jid.find((one) => known.size === known.add(one).size)
  if (twice !== undefined) throw invalidJob(`${name}: jid has ${shown(twice)} twice: each job needs an id of its own`)
  return eachOf(rows, jid, (n) => `${name}: jid has ${jid.length} ids for ${n} jobs: give one for each`)
}

/** `unequal` returns the message of the error when the list has not one value for each row. */
function eachOf<T>(rows: unknown, list: readonly T[], unequal: (n: number | string) => string): Each<T> {
  if (Array.isArray(rows) && rows.length !== list.length) throw invalidJob(unequal(rows.length))
  return {
    of(i) {
      if (i >= list.length) throw invalidJob(unequal('more'))
      return list[i] as T
    },
    end(n) {
      if (n !== list.length) throw invalidJob(unequal(n))
    },
  }
}

function timeOf(name: string, when: number | Date, now: number): number {
  if (when instanceof Date || typeof when === 'number') return dueAt(when, now)
  throw invalidJob(`${name}: at must be a Date, a number of seconds, or an array of those`)
}

function isList(at: NonNullable<BulkOptions['at']>): at is readonly (number | Date)[] {
  return Array.isArray(at)
}
