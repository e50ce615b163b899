/** Jobs that are worth nothing if they begin too late. */

import { type Payload, readTime } from './payload.ts'

/**
 * Whether it is too late to begin a job. Its time counts from when it came into its queue; of one that was scheduled, from
 * the time that it was scheduled for, which its promotion has written down. The text of one that has begun does not say
 * so any more (`attemptEnded`), but that of another program's retry: how long those go on says `retryFor`.
 */
export function isLate(payload: Payload, text: string, now: number): boolean {
  const seconds = secondsOf(payload)
  if (seconds === undefined) return false
  if (typeof payload.hk_expires === 'number') return payload.hk_expires < now
  const since = readTime(text, 'enqueued_at') ?? readTime(text, 'created_at')
  return since !== undefined && since + seconds * 1000 < now
}

/** When a job must have begun (ms) that leaves the schedule, where it stood at `score`; undefined: whenever. */
export function deadlineAt(payload: Payload, score: number): number | undefined {
  const seconds = secondsOf(payload)
  return seconds === undefined ? undefined : Math.round((score + seconds) * 1000)
}

/** Another program may have put anything there. */
function secondsOf({ expires_in, retry_count }: Payload): number | undefined {
  return typeof expires_in === 'number' && retry_count === undefined ? expires_in : undefined
}
