/** What becomes of a job that failed: Sidekiq's decision, to the letter. */

import { deflateSync } from 'node:zlib'
import { backoff, jitter } from '../job/backoff.ts'
import type { JobDefinition } from '../job/definition.ts'
import { messageOf, verdictOf } from '../job/errors.ts'
import { editPayload, type Payload, readTime, timeOf, type Wire } from '../job/payload.ts'

export type Verdict =
  | { kind: 'retry'; text: string; at: number; count: number }
  /** Out of retries. `dead`: into the dead set. */
  | { kind: 'exhausted'; text: string; dead: boolean; payload: Payload }
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
  maxRetries: number
  random: () => number
  /** An error in `retryIn`: the default applies. */
  report: (error: unknown) => void
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

  const max = typeof retry === 'number' ? retry : failure.maxRetries
  const again = typeof payload.retry_count === 'number'
  const count = again ? (payload.retry_count as number) + 1 : 0
  const changes: Partial<Payload> = {
    queue: payload.retry_queue ?? failure.queue,
    error_message: firstCharacters(messageOf(error).toWellFormed(), MESSAGE_CHARACTERS),
    error_class: classOf(error),
    ...(again ? {} : { failed_at: time }),
    retry_count: count,
    ...(again ? { retried_at: time } : {}),
    ...failure.changes,
  }
  const backtrace = payload.backtrace ?? false
  if (backtrace) changes.error_backtrace = compressed(error, backtrace)
  const exhausted = (): Verdict => {
    const dead = payload.dead ?? definition?.options.dead
    return {
      kind: 'exhausted',
      text: editPayload(text, changes, wire),
      dead: dead !== false,
      payload: { ...payload, ...changes },
    }
  }
  if (kill) return exhausted()
  if (typeof payload.retry_for === 'number') {
    const first = again ? (readTime(text, 'failed_at') ?? now) : now
    if (first + payload.retry_for * 1000 < now) return exhausted()
  } else if (count >= max) {
    return exhausted()
  }
  const wish = askRetryIn(failure, count)
  if (wish === 'kill') return exhausted()
  if (wish === 'discard') return { kind: 'dropped', payload: { ...payload, ...changes, discarded_at: time } }
  const delay = (wish ?? backoff(count)) + jitter(count, failure.random)
  return { kind: 'retry', text: editPayload(text, changes, wire), at: now / 1000 + delay, count }
}

function askRetryIn(failure: Failure, count: number): number | 'kill' | 'discard' | undefined {
  try {
    const wish = failure.definition?.options.retryIn?.(count, failure.error, failure.payload)
    if (wish === 'kill' || wish === 'discard') return wish
    return typeof wish === 'number' && wish > 0 && wish < Number.POSITIVE_INFINITY ? wish : undefined
  } catch (thrown) {
    failure.report(thrown)
    return undefined
  }
}

function classOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  // `class MyError extends Error {}` has no name of its own.
  return error.name === 'Error' ? error.constructor.name : error.name
}

/** Whole characters, not halves of one. */
function firstCharacters(text: string, n: number): string {
  return text.length <= n ? text : [...text.slice(0, 2 * n)].slice(0, n).join('')
}

/** The stack's lines as JSON, deflated, in base64: as Sidekiq stores a backtrace. */
function compressed(error: unknown, lines: boolean | number): string {
  const stack = error instanceof Error ? String(error.stack ?? '') : ''
  // The message comes first, in as many lines as it has.
  const frames = stack
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith('at '))
  const kept = typeof lines === 'number' ? frames.slice(0, lines) : frames
  return deflateSync(JSON.stringify(kept)).toString('base64')
}
