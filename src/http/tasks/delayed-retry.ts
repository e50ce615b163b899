/** A retry that waits a few seconds, so that it can be undone before its first row begins. */

import { randomBytes } from 'node:crypto'
import type { Highkiq } from '../../app.ts'
import { codeFilterOf, type ReasonCount } from '../../tasks/event.ts'
import type { RetryOptions } from '../../tasks/retry.ts'

/** The store keeps the state of a delayed retry for this many seconds, so that every server process finds it. */
const KEPT_SECONDS = 3600

const keyOf = (task: string, undo: string) => `retry:${task}:${undo}`

/**
 * Begins the retry after `seconds`, unless it is undone before. The retry waits in this process: when the process dies
 * first, the rows stay rejected.
 * @returns the token for `undoRetry`, and when the retry begins
 */
export async function delayRetry(
  hq: Highkiq,
  task: string,
  seconds: number,
  retry: () => Promise<void>,
): Promise<{ undo: string; startsAt: Date }> {
  const undo = randomBytes(8).toString('hex')
  const key = keyOf(task, undo)
  await hq.store.remember(key, 'waiting', KEPT_SECONDS)
  const begin = async () => {
    const state = await hq.store.remember(key, 'begun', KEPT_SECONDS, 'waiting')
    if (state === null || state === 'begun') await retry()
  }
  const complain = (thrown: unknown) =>
    hq.log.error({ err: thrown, task }, 'a retry of a task, which waited for its undo time, did not begin: retry again')
  setTimeout(() => void begin().catch(complain), seconds * 1000)
  return { undo, startsAt: new Date(hq.now() + seconds * 1000) }
}

/** Undoes a delayed retry; returns false when it has begun already. */
export async function undoRetry(hq: Highkiq, task: string, undo: string): Promise<boolean> {
  const state = await hq.store.remember(keyOf(task, undo), 'undone', KEPT_SECONDS, 'waiting')
  return state === null || state === 'undone'
}

/** Returns how many rows a retry would select now. */
export function rowsMeant(reasons: readonly ReasonCount[], { status = ['failed', 'error'], ...options }: RetryOptions) {
  const { code, otherCodes } = codeFilterOf(options)
  const isMeant = (reason: ReasonCount) =>
    (status as string[]).includes(reason.status) &&
    (otherCodes ? reason.otherCodes : code === undefined || (reason.code === code && !reason.otherCodes))
  return reasons.filter(isMeant).reduce((sum, { count }) => sum + count, 0)
}
