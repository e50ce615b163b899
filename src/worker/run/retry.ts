/** Decides what happens to a job that failed, exactly as Sidekiq does. */

import { deflateSync } from 'node:zlib'
import { backoff, DELAY_WORDS, delayOf, jitter } from '../../job/backoff.ts'
import type { JobOptions } from '../../job/definition.ts'
import { classOf, type HighkiqError, invalidOption, messageOf, verdictOf } from '../../job/errors.ts'
import { shown } from '../../job/options.ts'
import { editPayload, type Payload, readTime, timeOf } from '../../job/payload.ts'
import { isPriorityName, priorityName, priorityOf } from '../../job/priority.ts'
import type { Engine } from '../engine.ts'
import type { Attempt } from './attempt.ts'

/** The decision, with the job as it is stored next. */
export type Verdict =
  | { kind: 'retry'; text: string; payload: Payload; at: number; count: number }
  /** The job has used up its retries. `dead`: it goes to the dead set. */
  | { kind: 'exhausted'; text: string; payload: Payload; dead: boolean }
  /** The job is not retried and not kept. */
  | { kind: 'deleted'; payload: Payload }

/** The number of characters of an error's message that are stored. */
const MESSAGE_CHARACTERS = 10_000

/** The part of the worker's engine that a decision needs. */
export type RetryRules = Pick<Engine, 'wire' | 'limits' | 'random' | 'backtraceCleaner' | 'report'>

export interface Failure {
  error: unknown
  /** Milliseconds since the epoch. */
  now: number
  /** The options with `retryIn`: those of the wrapped class, or else of the job's own class. */
  hooks: JobOptions | undefined
  /** Members of the payload that change whatever the decision is. */
  changes: Partial<Payload>
}

/** Errors of `retryIn` and `backtraceCleaner` are reported; the decision does without them then. */
export function judge(
  rules: RetryRules,
  { fetched: { text, queue }, payload, definition }: Pick<Attempt, 'fetched' | 'payload' | 'definition'>,
  failure: Failure,
): Verdict {
  const { wire, limits, random } = rules
  const { error, now } = failure
  const time = timeOf(now, wire)
  const retry = payload.retry ?? definition?.options.retry ?? definition !== undefined
  const kill = verdictOf(error) === 'kill'
  // With `retry: 0` the job goes to the dead set, with `retry: false` it is deleted.
  if (retry === false && !kill) return { kind: 'deleted', payload }

  const max = Number.isInteger(retry) ? (retry as number) : limits.retries
  // A count of 0 or of -1 (retried by hand) counts as present.
  const isRetry = typeof payload.retry_count === 'number'
  const count = isRetry ? (payload.retry_count as number) + 1 : 0
  const changes: Partial<Payload> = {
    queue: isName(payload.retry_queue) ? withPriorityOf(queue, payload.retry_queue) : queue,
    error_message: storedMessage(error),
    error_class: classOf(error).toWellFormed(),
    ...(isRetry ? {} : { failed_at: time }),
    retry_count: count,
    ...(isRetry ? { retried_at: time } : {}),
    ...failure.changes,
  }
  const backtrace = payload.backtrace ?? false
  if (backtrace) changes.error_backtrace = compressed(rules, payload, error, backtrace)
  const after = { ...payload, ...changes }
  const exhausted = (): Verdict => {
    const dead = payload.dead ?? definition?.options.dead
    return { kind: 'exhausted', text: editPayload(text, changes, wire), payload: after, dead: dead !== false }
  }
  if (kill) return exhausted()
  if (typeof payload.retry_for === 'number') {
    const first = isRetry ? (readTime(text, 'failed_at') ?? now) : now
    if (first + payload.retry_for * 1000 < now) return exhausted()
  } else if (count >= max) {
    return exhausted()
  }
  const wish = askRetryIn(rules, failure, count, after)
  if (wish === 'kill') return exhausted()
  if (wish === 'discard') return { kind: 'deleted', payload: { ...after, discarded_at: time } }
  const { seconds, jitter: spread } = wish ?? { seconds: backoff(count), jitter: true }
  const delay = Math.min(seconds, LONGEST_SECONDS) + (spread ? jitter(count, random) : 0)
  return { kind: 'retry', text: editPayload(text, changes, wire), payload: after, at: now / 1000 + delay, count }
}

/** Returns the chosen delay; undefined when none was chosen, or when the value is not a delay. */
function askRetryIn({ report }: RetryRules, { hooks, error }: Failure, count: number, payload: Payload) {
  const { jid } = payload
  try {
    const wish = typeof hooks?.retryIn === 'function' ? hooks.retryIn(count, error, payload) : hooks?.retryIn
    if (wish === 'kill' || wish === 'discard') return wish
    if (wish === undefined || wish === null || wish === 'default') return undefined
    const delay = delayOf(wish)
    if (!delay) report(wrongAnswer(payload.wrapped ?? payload.class, wish), { jid, during: 'retryIn' })
    return delay
  } catch (thrown) {
    report(thrown, { jid, during: 'retryIn' })
    return undefined
  }
}

function wrongAnswer(name: string, answer: unknown): HighkiqError {
  return invalidOption(
    `${name}: retryIn must return ${DELAY_WORDS}, 'kill', 'discard' or 'default' (got ${shown(answer)}); the job gets the default delay`,
  )
}

/** A hundred years: the longest delay, also for an invalid retry_count. A Date can still represent it. */
const LONGEST_SECONDS = 100 * 365 * 86_400

/** Returns the name of a retry queue with the priority that the job had, unless it names one itself. */
function withPriorityOf(queue: string, retryQueue: string): string {
  return isPriorityName(retryQueue) ? retryQueue : priorityName(retryQueue, priorityOf(queue))
}

function isName(queue: unknown): queue is string {
  return typeof queue === 'string' && queue !== ''
}

/** Returns the part of an error's message that is stored. */
export function storedMessage(error: unknown): string {
  return firstCharacters(messageOf(error).toWellFormed(), MESSAGE_CHARACTERS)
}

/** Cuts a text without splitting a surrogate pair. */
function firstCharacters(text: string, n: number): string {
  return text.length <= n ? text : [...text.slice(0, 2 * n)].slice(0, n).join('')
}

/** Returns the lines of the stack as Sidekiq stores a backtrace: JSON, deflated, in base64. */
function compressed(
  { backtraceCleaner, report }: RetryRules,
  { jid }: Payload,
  error: unknown,
  lines: boolean | number,
): string {
  const stack = error instanceof Error ? String(error.stack ?? '') : ''
  // The lines of the message come first; they are left out.
  let frames = stack
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith('at '))
  try {
    if (backtraceCleaner) frames = Array.from(backtraceCleaner([...frames]), String)
  } catch (thrown) {
    report(thrown, { jid, during: 'backtraceCleaner' })
  }
  const kept = (typeof lines === 'number' ? frames.slice(0, lines) : frames).map((line) => line.toWellFormed())
  return deflateSync(JSON.stringify(kept)).toString('base64')
}
