/** A cron entry as an app defines it, and as the store shows it to other processes. */

import type { AppPort } from '../app/port.ts'
import type { Job } from '../client/job.ts'
import type { PushRequest } from '../client/request.ts'
import { HighkiqError, invalidOption } from '../job/errors.ts'
import { parseJson, stringifyJson } from '../job/json.ts'
import { checkOptions, given, type OptionKind } from '../job/options.ts'
import { OTHER_CRON_NAMES } from '../job/other-names.ts'
import { isPriority } from '../job/priority.ts'
import type { Store } from '../store/contract.ts'
import { Schedule } from './schedule.ts'

export type Missed = 'skip' | 'once' | 'all'
export type Overlap = 'allow' | 'skip'

export interface CronOptions<Args extends unknown[] = unknown[]> {
  /** The arguments of the job, or a function of the tick that returns them; default: none. */
  args?: Args | ((tick: Date) => Args | Promise<Args>)
  /** The time zone of the spec, for instance `Europe/Berlin`; default `UTC`, because servers differ. */
  timeZone?: string
  /** The queue of the job; default: the job's own queue. */
  queue?: string
  /** The priority of the job in its queue, 0 to 9; default: the job's own priority. */
  priority?: number
  /**
   * How to handle ticks that were missed because no process was alive. `once` (default): one run for all of them.
   * `all`: one run for each, at most the last 1,000. `skip`: no run.
   */
  missed?: Missed
  /** With `skip` a tick does not run while the job of the last run waits, runs or will be retried. Default `allow`. */
  overlap?: Overlap
}

/** The options of an entry. A job that expects arguments requires `args`. */
export type CronRest<Args extends unknown[]> = [] extends Args
  ? [options?: CronOptions<Args>]
  : [options: CronOptions<Args> & Required<Pick<CronOptions<Args>, 'args'>>]

/** The part of a definition that the store keeps. */
export interface Shown {
  spec: string
  timeZone: string
  job: string
  queue?: string
  priority?: number
  /** Absent when a function returns them, and in a job with `encrypt`. */
  args?: unknown[]
  missed: Missed
  overlap: Overlap
  /** Whether the job is unique: only the app that defines it knows its lock. */
  unique?: true
}

/** The part of an entry that is needed to push its job. */
export interface Runnable {
  name: string
  args: unknown[] | ((tick: Date) => unknown[] | Promise<unknown[]>)
  request(args: unknown[]): PushRequest
  shown: Pick<Shown, 'queue' | 'priority' | 'overlap'>
}

export interface Entry extends Runnable {
  schedule: Schedule
  shown: Shown
  /** `shown` as JSON, as the store keeps it. Two definitions are the same if their texts are. */
  text: string
}

const OPTIONS: Record<keyof CronOptions, OptionKind> = {
  args: [(args) => Array.isArray(args) || typeof args === 'function', 'an array, or a function of the tick'],
  timeZone: null,
  queue: null,
  priority: [isPriority, 'a whole number from 0 to 9'],
  missed: ['skip', 'once', 'all'],
  overlap: ['allow', 'skip'],
}
const LONGEST_NAME = 200

/** Checks the options and returns the entry. @throws INVALID_OPTION */
export function entryOf(
  name: string,
  spec: string,
  job: Job<unknown[]>,
  options: CronOptions,
  { client, now }: Pick<AppPort, 'client' | 'now'>,
): Entry {
  checkName(name)
  const where = `cron ${name}`
  checkOptions(where, options, OPTIONS, OTHER_CRON_NAMES)
  const { args = [], timeZone = 'UTC', queue, priority, missed = 'once', overlap = 'allow' } = options
  const schedule = scheduleOf(where, spec, timeZone)
  if (schedule.next(now()) === null)
    throw invalidOption(
      `${where}: ${JSON.stringify(spec)} never occurs: write a cron expression with a date that exists`,
    )
  const shown: Shown = {
    spec,
    timeZone,
    job: job.name,
    ...given({ queue, priority }),
    ...(Array.isArray(args) && !isEncrypted(job) ? { args } : {}),
    missed,
    overlap,
    ...(client.isUnique(job.request([])) ? { unique: true } : {}),
  }
  return { name, schedule, args, request: (made) => job.request(made), shown, text: stringifyJson(shown) }
}

/** Checks that the job of an entry has no lock if the store is sharded. @throws INVALID_OPTION */
export function refuseUniqueEntry({ name, shown: { job, unique } }: Entry, { shardUrls }: Store): void {
  if (!unique || !shardUrls) return
  throw invalidOption(
    `cron ${name}: with shards, the job of an entry can't be unique, because its lock may be on another shard: give ${job}.set({ unique: false }), and overlap: 'skip' if its runs must exclude each other`,
  )
}

/** Whether the arguments of an entry must not be in the store in plain text. */
function isEncrypted(job: Job<unknown[]>): boolean {
  return (job.request([]).encrypt ?? job.definition.options.encrypt) === true
}

/** Reads a stored definition; undefined when another program wrote it in an unknown form. */
export function readShown(text: string): Shown | undefined {
  try {
    const shown = parseJson(text) as Shown
    return typeof shown.spec === 'string' && typeof shown.timeZone === 'string' ? shown : undefined
  } catch {
    return undefined
  }
}

/** Returns the schedule of a stored definition; undefined when its spec or time zone is unknown here. */
export function readSchedule({ spec, timeZone }: Shown): Schedule | undefined {
  try {
    return new Schedule(spec, timeZone)
  } catch {
    return undefined
  }
}

function scheduleOf(where: string, spec: string, timeZone: string): Schedule {
  try {
    return new Schedule(spec, timeZone)
  } catch (thrown) {
    if (!(thrown instanceof HighkiqError)) throw thrown
    throw new HighkiqError(thrown.code, `${where}: ${thrown.message}`)
  }
}

function checkName(name: string): void {
  if (typeof name === 'string' && name !== '' && name.length <= LONGEST_NAME && !/\p{Cc}/u.test(name)) return
  throw invalidOption(
    `${JSON.stringify(name)} is not a name for a cron entry: use a string of one line, for instance "nightly"`,
  )
}
