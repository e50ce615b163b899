/** What becomes of a job that failed: Sidekiq's decision, to the letter. */

import { deflateSync } from 'node:zlib'
import { backoff, DELAY_WORDS, delayOf, jitter } from '../../job/backoff.ts'
import type { JobDefinition, JobOptions } from '../../job/definition.ts'
import { classOf, HighkiqError, messageOf, verdictOf } from '../../job/errors.ts'
import { shown } from '../../job/options.ts'
import { editPayload, type Payload, readTime, timeOf, type Wire } from '../../job/payload.ts'

/** What becomes of it, with the job as it is now. */
export type Verdict =
  | { kind: 'retry'; text: string; payload: Payload; at: number; count: number }
  /** Out of retries. `dead`: into the dead set. */
  | { kind: 'exhausted'; text: string; payload: Payload; dead: boolean }
  /** Not to be retried at all. */
  | { kind: 'dropped'; payload: Payload }

/** Characters of an error's message that are stored. */
const MESSAGE_CHARACTERS = 10_000

export interface Failure {
  /** As it was taken. */
  text: string
  payload: Payload
  /** The queue it was taken from. */
  queue: string
  error: unknown
  /** Milliseconds. */
  now: number
  wire: Wire
  definition: JobDefinition | undefined
  /** Whose `retryIn` is asked: of the class that is `wrapped`, else of the job's own. */
  hooks: JobOptions | undefined
  maxRetries: number
  random: () => number
  backtraceCleaner: ((lines: string[]) => string[]) | undefined
  /** An error in `retryIn` or `backtraceCleaner`: it goes on without. */
  report: (error: unknown, during: string) => void
  /** Fields that change whatever is decided. */
  changes: Partial<Payload>
}

export function judge(failure: Failure): Verdict {
  const { text, payload, error, now, wire, definition } = failure
  const time = timeOf(now, wire)
  const retry = payload.retry ?? definition?.options.retry ?? definition !== undefined
  const kill = verdictOf(error) === 'kill'
  // 0 is a number of retries, and leads to the dead set; false means no such job was ever here.
  if (retry === false && !kill) return { kind: 'dropped', payload }

  const max = Number.isInteger(retry) ? (retry as number) : failure.maxRetries
  // 0 and -1 (retried by hand) are there, too.
  const again = typeof payload.retry_count === 'number'
  const count = again ? (payload.retry_count as number) + 1 : 0
  const changes: Partial<Payload> = {
    queue: isName(payload.retry_queue) ? payload.retry_queue : failure.queue,
    error_message: storedMessage(error),
    error_class: classOf(error).toWellFormed(),
    ...(again ? {} : { failed_at: time }),
    retry_count: count,
    ...(again ? { retried_at: time } : {}),
    ...failure.changes,
  }
  const backtrace = payload.backtrace ?? false
  if (backtrace) changes.error_backtrace = compressed(failure, backtrace)
  const after = { ...payload, ...changes }
  const exhausted = (): Verdict => {
    const dead = payload.dead ?? definition?.options.dead
    return { kind: 'exhausted', text: editPayload(text, changes, wire), payload: after, dead: dead !== false }
  }
  if (kill) return exhausted()
  if (typeof payload.retry_for === 'number') {
    const first = again ? (readTime(text, 'failed_at') ?? now) : now
    if (first + payload.retry_for * 1000 < now) return exhausted()
  } else if (count >= max) {
    return exhausted()
  }
  const wish = askRetryIn(failure, count, after)
  if (wish === 'kill') return exhausted()
  if (wish === 'discard') return { kind: 'dropped', payload: { ...after, discarded_at: time } }
  const { seconds, jitter: spread } = wish ?? { seconds: backoff(count), jitter: true }
  const delay = Math.min(seconds, LONGEST_SECONDS) + (spread ? jitter(count, failure.random) : 0)
  return { kind: 'retry', text: editPayload(text, changes, wire), payload: after, at: now / 1000 + delay, count }
}

/** Returns the chosen delay; undefined when none was chosen, or when the value is not a delay. */
function askRetryIn({ hooks, error, report }: Failure, count: number, payload: Payload) {
  try {
    const wish = typeof hooks?.retryIn === 'function' ? hooks.retryIn(count, error, payload) : hooks?.retryIn
    if (wish === 'kill' || wish === 'discard') return wish
    if (wish === undefined || wish === null || wish === 'default') return undefined
    const delay = delayOf(wish)
    if (!delay) report(wrongAnswer(payload.wrapped ?? payload.class, wish), 'retryIn')
    return delay
  } catch (thrown) {
    report(thrown, 'retryIn')
    return undefined
  }
}

function wrongAnswer(name: string, answer: unknown): HighkiqError {
  return new HighkiqError(
    'INVALID_OPTION',
    `${name}: retryIn must answer ${DELAY_WORDS}, 'kill', 'discard' or 'default' (got ${shown(answer)}): the job gets the usual delay`,
  )
}

/** A hundred years: what is meant for ever, and what garbage in retry_count comes to. A Date can still say it. */
const LONGEST_SECONDS = 100 * 365 * 86_400

function isName(queue: unknown): queue is string {
  return typeof queue === 'string' && queue !== ''
}

/** Of an error's message what is stored. */
export function storedMessage(error: unknown): string {
  return firstCharacters(messageOf(error).toWellFormed(), MESSAGE_CHARACTERS)
}

/** Whole characters, not halves of one. */
function firstCharacters(text: string, n: number): string {
  return text.length <= n ? text : [...text.slice(0, 2 * n)].slice(0, n).join('')
}

/** The stack's lines as JSON, deflated, in base64: as Sidekiq stores a backtrace. */
function compressed({ error, backtraceCleaner, report }: Failure, lines: boolean | number): string {
  const stack = error instanceof Error ? String(error.stack ?? '') : ''
  // The message comes first, in as many lines as it has.
  let frames = stack
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith('at '))
  try {
    if (backtraceCleaner) frames = Array.from(backtraceCleaner([...frames]), String)
  } catch (thrown) {
    report(thrown, 'backtraceCleaner')
  }
  const kept = (typeof lines === 'number' ? frames.slice(0, lines) : frames).map((line) => line.toWellFormed())
  return deflateSync(JSON.stringify(kept)).toString('base64')
}
