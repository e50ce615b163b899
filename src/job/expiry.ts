/** Decides which jobs expire because they start too late. */

import { editPayload, type Payload, readPayload, readTime } from './payload.ts'

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
  return seconds === undefined ? undefined : Math.round((firstDue(payload, score) + seconds) * 1000)
}

/** Returns the text of a scheduled job that is postponed from `score` to `due`. It keeps its deadline. */
export function postponedText(text: string, score: number, due: number): string {
  const payload = readPayload(text)
  if (!payload || secondsOf(payload) === undefined) return text
  return editPayload(text, { hk_postponed: [firstDue(payload, score), due] })
}

/** Returns when a job was due before it was postponed. A job whose time was changed by hand is due at that time. */
function firstDue({ hk_postponed: postponed }: Payload, score: number): number {
  if (!Array.isArray(postponed)) return score
  const [first, due] = postponed
  return typeof first === 'number' && due === score ? first : score
}

/** Another program may have written any value. */
function secondsOf({ expires_in, retry_count }: Payload): number | undefined {
  return typeof expires_in === 'number' && retry_count === undefined ? expires_in : undefined
}
