/** Unique jobs: what the option `unique` means, and what a job's payload says about its lock. */

import { createHash, createHmac } from 'node:crypto'
import { checkValue } from './args.ts'
import { canonicalJson } from './canonical.ts'
import { type Duration, LONGEST, LONGEST_SECONDS, seconds } from './duration.ts'
import { HighkiqError, invalidOption } from './errors.ts'
import { checkOptions, shown } from './options.ts'
import type { Payload } from './payload.ts'

export interface UniqueOptions {
  /**
   * How long the job keeps its lock. `until-success` (default): until it has succeeded or will not run again.
   * `until-start`: until its first attempt starts. `pending`: while it waits, also between two attempts. A duration: for
   * that long after the push, also when the job has ended before.
   */
  for?: 'pending' | 'until-start' | 'until-success' | number | Duration
  /**
   * Returns what is unique, as JSON: jobs of a class with the same value share a lock. Or the path of that value in the
   * arguments: `'0.customer'` means `(row) => row.customer`. Default: all arguments.
   */
  by?: ((...args: never[]) => unknown) | string
  /**
   * What happens to a push while another job has the lock. `drop` (default) answers its jid, `raise` throws. `replace` gives
   * the other job the new arguments if it waits. `debounce` does so too, and moves a scheduled job to the time of this push.
   */
  onConflict?: OnConflict
}

export type OnConflict = 'drop' | 'raise' | 'replace' | 'debounce'

/** The option `unique`: true means the defaults, false no lock. */
export type Unique = boolean | UniqueOptions

/** When a job releases its lock; `time`: at a time, whatever happens to the job. */
export type UniqueUntil = 'success' | 'start' | 'pending' | 'time'

/** A lock as the payload names it. */
export interface JobLock {
  until: UniqueUntil
  key: string
  /** When it is free at the latest (ms). */
  ends?: number
}

/** In `hk_unique`: the job has the lock of its jid, until it has succeeded or will not run again. */
export const JID_LOCK = 'jid'
const JID_LOCK_PREFIX = 'jid:'

const WORDS: Readonly<Record<string, UniqueUntil>> = {
  'until-success': 'success',
  'until-start': 'start',
  pending: 'pending',
}
const UNTIL: ReadonlySet<string> = new Set<UniqueUntil>(['success', 'start', 'pending', 'time'])
const FOR = `'until-success', 'until-start', 'pending' or a duration above 0 and at most ${LONGEST} such as '10m'`

/** @throws INVALID_OPTION */
export function checkUnique(job: string, unique: unknown): void {
  if (typeof unique === 'boolean') return
  checkOptions(`${job}: unique`, unique, {
    for: [isFor, FOR],
    by: [isBy, "a function of the arguments, or a path in them such as '0.customer'"],
    onConflict: ['drop', 'raise', 'replace', 'debounce'],
  })
}

function isBy(value: unknown): boolean {
  return typeof value === 'function' || (typeof value === 'string' && /^\d+(\.[^.]+)*$/.test(value))
}

function isFor(value: unknown): boolean {
  if (typeof value === 'string' && Object.hasOwn(WORDS, value)) return true
  try {
    return seconds(value as Duration) > 0
  } catch {
    return false
  }
}

/**
 * Returns the lock that a push needs, and after how many seconds it is free at the latest. With a secret nobody else can
 * guess arguments by their digest.
 * @throws INVALID_ARGS
 */
export function uniqueLockOf(
  name: string,
  args: readonly unknown[],
  { for: span = 'until-success', by }: UniqueOptions,
  secret?: Uint8Array,
): { lock: string; seconds?: number } {
  const meant: unknown = typeof by === 'string' ? valueAt(name, args, by) : by ? by(...(args as never[])) : args
  if (by) checkValue(meant, 'unique.by(…)', name)
  const text = `${name}\n${canonicalJson(meant)}`
  const hash = secret ? createHmac('sha256', secret) : createHash('sha256')
  const key = hash.update(text).digest().subarray(0, 16).toString('base64url')
  const until = typeof span === 'string' && Object.hasOwn(WORDS, span) ? WORDS[span] : undefined
  return until ? { lock: `${until}:${key}` } : { lock: `time:${key}`, seconds: seconds(span as Duration) }
}

/** @throws INVALID_ARGS when the arguments have no such value */
function valueAt(name: string, args: readonly unknown[], path: string): unknown {
  let value: unknown = args
  for (const key of path.split('.')) {
    const isThere = typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    if (!isThere) {
      const message = `${name}: unique.by is ${shown(path)}, and the arguments have no such value: name another path`
      throw new HighkiqError('INVALID_ARGS', message, { problem: 'no-lock-value', path: `args.${path}`, job: name })
    }
    value = (value as Record<string, unknown>)[key]
  }
  return value
}

/** Returns the locks that a job had when it was pushed, as far as the payload can be read. */
export function readUnique({ hk_unique: text, hk_unique_ends: end, jid }: Payload): JobLock[] {
  // Another program may have written a jid that is not a string.
  if (typeof text !== 'string' || typeof jid !== 'string') return []
  const ends = typeof end === 'number' && Number.isSafeInteger(end) ? { ends: end } : {}
  return text.split(',').flatMap((part): JobLock[] => {
    if (part === JID_LOCK) return [{ until: 'success', key: jidLock(jid) }]
    const [until, key] = part.split(':')
    if (key === undefined || !UNTIL.has(until as string)) return []
    return until === 'time' && ends.ends === undefined ? [] : [{ until: until as UniqueUntil, key, ...ends }]
  })
}

/** Returns the effects that release the locks of a job when it ends. A lock with a duration stays. */
export function releaseLocks(payload: Payload) {
  const locks = readUnique(payload).filter(({ until }) => until !== 'time')
  return locks.map(({ key }) => ({ kind: 'release-unique', key, holder: payload.jid }) as const)
}

/** Returns the member `hk_unique` for these locks of a job; an empty text for none. */
export function writeUnique(locks: readonly JobLock[], jid: string): string {
  return locks.map(({ until, key }) => (key === jidLock(jid) ? JID_LOCK : `${until}:${key}`)).join()
}

/** Returns the member `hk_unique` of a payload with this text in place of keys. */
export function withoutKeys(locks: string, text: string): string {
  return locks.replace(/(^|,)([^,:]*):[^,]*/g, `$1$2:${text}`)
}

/** Returns whether a key is a digest of arguments. The other locks name a jid. */
export function isDigest(key: string): boolean {
  return !key.startsWith(JID_LOCK_PREFIX)
}

/** Returns the lock of a job that was pushed with a jid of its own. */
export function jidLock(jid: string): string {
  return JID_LOCK_PREFIX + jid
}

/**
 * Returns what Sidekiq's `unique_for` and `unique_until` mean; undefined when they ask for no lock.
 * @throws INVALID_OPTION
 */
export function sidekiqUnique(
  name: string,
  { unique_for: limit, unique_until: until = 'success' }: Record<string, unknown>,
): { unique: UniqueOptions; seconds: number } | undefined {
  if (limit === undefined || limit === null || limit === false) return undefined
  const refuse = (what: string): HighkiqError => invalidOption(`${name}: ${what}`)
  if (!(typeof limit === 'number' && limit > 0 && limit <= LONGEST_SECONDS)) {
    throw refuse(
      `unique_for must be a number of seconds above 0 and at most ${LONGEST}, or false (got ${shown(limit)})`,
    )
  }
  if (until !== 'success' && until !== 'start') throw refuse("unique_until must be 'success' or 'start'")
  return { unique: { for: until === 'start' ? 'until-start' : 'until-success' }, seconds: limit }
}
