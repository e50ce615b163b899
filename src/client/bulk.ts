/** Plans a bulk push: the request of each row, when each is due, and how many are stored in one step. */

import { dueAt } from '../job/duration.ts'
import { HighkiqError, invalidOption } from '../job/errors.ts'
import { isIterable } from '../job/json.ts'
import { refuseUnknown } from '../job/options.ts'
import type { PushRequest } from './request.ts'
import type { TemplateCache } from './template.ts'

/** The most jobs that are stored in one step. */
export const BULK = 1000

export interface BulkOptions {
  /** When the jobs are due: one time for all, or one for each. A number below 1,000,000,000 means seconds from now. */
  at?: number | Date | readonly (number | Date)[]
  /** Spreads the jobs randomly over this many seconds from now, at least 5. */
  spreadInterval?: number
  /** Jobs stored in one step: at most 1,000. Default 1,000, or 100 for jobs with times. */
  batchSize?: number
}

/** The argument lists of a bulk. */
export type Rows<Args extends unknown[] = unknown[]> = Iterable<Args> | AsyncIterable<Args>

export interface Bulk<Args extends unknown[] = unknown[]> {
  name: string
  rows: Rows<Args>
  options: BulkOptions
  /** The id, for a bulk of one job. */
  jid?: string | undefined
  /** Returns the push of a row, without its time. */
  requestOf(args: Args): PushRequest
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

interface Times {
  /** Returns the seconds since the epoch at which the i-th job is due. @throws INVALID_JOB */
  due(i: number): number
  end(rows: number): void
}

const TIMED = 100
const LEAST_SPREAD = 5

/** @throws INVALID_JOB, INVALID_OPTION before anything is pushed, as far as it can be seen by then */
export function planBulk<Args extends unknown[]>(bulk: Bulk<Args>, clock: Clock): BulkPlan {
  const { name, rows, jid, options } = bulk
  if (!isIterable(rows)) {
    throw invalid(`${name}: a bulk is an array (or another iterable) of lists of arguments: [['bob', 1], ['ann', 2]]`)
  }
  refuseUnknown(`${name}: a bulk`, options, ['at', 'spreadInterval', 'batchSize'])
  const refuseMore = () => invalid(`${name}: a jid is for one job, and the bulk has more: leave it out`)
  if (jid !== undefined && Array.isArray(rows) && rows.length > 1) throw refuseMore()
  const times = timesOf(bulk, clock)
  const batchSize = options.batchSize ?? (times ? TIMED : BULK)
  if (!(Number.isInteger(batchSize) && batchSize >= 1 && batchSize <= BULK)) {
    throw invalidOption(`batchSize must be a whole number from 1 to ${BULK}`)
  }
  return {
    batchSize,
    cache: bulk.isUniform && !times ? {} : undefined,
    request(args, i) {
      if (!Array.isArray(args)) {
        throw invalid(`${name}: job ${i} of the bulk is no list: each is the list of a job's arguments, so write [row]`)
      }
      if (jid !== undefined && i > 0) throw refuseMore()
      const request = bulk.requestOf(args as Args)
      return times ? { ...request, at: times.due(i) } : request
    },
    end: (n) => times?.end(n),
  }
}

function timesOf(
  { name, rows, options }: Pick<Bulk, 'name' | 'rows' | 'options'>,
  { now, random }: Clock,
): Times | undefined {
  const { at, spreadInterval } = options
  if (spreadInterval !== undefined) {
    if (at !== undefined) throw invalid(`${name}: say either at or spreadInterval, not both`)
    if (!(Number.isFinite(spreadInterval) && spreadInterval > 0)) {
      throw invalid(`${name}: spreadInterval must be a number of seconds above 0`)
    }
    const seconds = Math.max(spreadInterval, LEAST_SPREAD)
    return { due: () => now() / 1000 + random() * seconds, end() {} }
  }
  if (at === undefined) return undefined
  if (isList(at)) return eachAt(name, rows, at, now())
  const due = timeOf(name, at, now())
  return { due: () => due, end() {} }
}

function eachAt(name: string, rows: unknown, at: readonly (number | Date)[], now: number): Times {
  if (at.length === 0) throw invalid(`${name}: at is an empty array: give a time for each job, or leave it out`)
  const due = at.map((when) => timeOf(name, when, now))
  const unequal = (n: number | string) =>
    invalid(`${name}: at has ${at.length} times for ${n} jobs: give one for each, or one for all`)
  if (Array.isArray(rows) && rows.length !== at.length) throw unequal(rows.length)
  return {
    due(i) {
      const one = due[i]
      if (one === undefined) throw unequal('more')
      return one
    },
    end(n) {
      if (n !== due.length) throw unequal(n)
    },
  }
}

function timeOf(name: string, when: number | Date, now: number): number {
  if (when instanceof Date || typeof when === 'number') return dueAt(when, now)
  throw invalid(`${name}: at must be a Date, a number of seconds, or an array of those`)
}

function isList(at: NonNullable<BulkOptions['at']>): at is readonly (number | Date)[] {
  return Array.isArray(at)
}

function invalid(message: string): HighkiqError {
  return new HighkiqError('INVALID_JOB', message)
}
