/** Decides which jobs expire because they start too late. */

import { type Payload, readTime } from './payload.ts'

/**
 * Returns whether it is too late to start a job. The time counts from when the job entered its queue or, for a scheduled
 * job, from its scheduled time, which the promotion has stored. A job that has started before does not expire: its text has
 * no deadline any more (see `attemptEnded`), and retries of other programs are left to `retryFor`.
 */
export function isLate(payload: Payload, text: string, now: number): boolean {
  const seconds = secondsOf(payload)
  if (seconds === undefined) return false
  if (typeof payload.hk_expires === 'number') return payload.hk_expires < now
  const since = readTime(text, 'enqueued_at') ?? readTime(text, 'created_at')
  return since !== undefined && since + seconds * 1000 < now
}

/** Returns the deadline in milliseconds of a job that was scheduled for `score`; undefined when it has none. */
export function deadlineAt(payload: Payload, score: number): number | undefined {
  const seconds = secondsOf(payload)
  return seconds === undefined ? undefined : Math.round((score + seconds) * 1000)
}

/** Another program may have written any value. */
function secondsOf({ expires_in, retry_count }: Payload): number | undefined {
  return typeof expires_in === 'number' && retry_count === undefined ? expires_in : undefined
}
