/** A retry that waits a few seconds, so that it can be undone before its first row begins. */

import { randomBytes } from 'node:crypto'
import type { Highkiq } from '../../app.ts'
import { HighkiqError } from '../../job/errors.ts'
import { plural } from '../../job/plural.ts'
import { codeFilterOf, type ReasonCount } from '../../tasks/event.ts'
import type { RetryOptions } from '../../tasks/retry.ts'

/** The store keeps the state of a delayed retry for this many seconds, so that every server process finds it. */
const KEPT_SECONDS = 3600

const keyOf = (task: string, undo: string) => `retry:${task}:${undo}`

/** The delayed retries of one server. They wait in this process: when the process ends first, the rows stay rejected. */
export function delayedRetries(hq: Highkiq) {
  const { log } = hq
  /** The retries that wait, by their keys. */
  const waiting = new Map<string, { task: string; timer: NodeJS.Timeout }>()
  const remember = (...about: Parameters<typeof hq.store.results.remember>) => hq.store.results.remember(...about)
  const cancel = (key: string) => {
    clearTimeout(waiting.get(key)?.timer)
    waiting.delete(key)
  }
  return {
    /**
     * Begins the retry after `seconds`, unless it is undone before.
     * @returns the token for `undo`, and when the retry begins
     */
    async add(task: string, seconds: number, retry: () => Promise<void>): Promise<{ undo: string; startsAt: Date }> {
      const undo = randomBytes(8).toString('hex')
      const key = keyOf(task, undo)
      await remember(key, 'waiting', KEPT_SECONDS)
      const begin = async () => {
        waiting.delete(key)
        const state = await remember(key, 'begun', KEPT_SECONDS, 'waiting')
        if (state === null || state === 'begun') await retry()
      }
      const complain = (thrown: unknown) =>
        log.error(
          { err: thrown, task },
          'a retry of a task, which waited for its undo time, did not begin: retry again',
        )
      waiting.set(key, { task, timer: setTimeout(() => void begin().catch(complain), seconds * 1000) })
      return { undo, startsAt: new Date(hq.now() + seconds * 1000) }
    },
    /** Undoes a delayed retry; returns false when it has begun already. @throws UNKNOWN_RETRY */
    async undo(task: string, undo: string): Promise<boolean> {
      const key = keyOf(task, undo)
      // A value kept for 0 seconds stores nothing: this only reads the key.
      if ((await remember(key, '', 0)) === null) {
        throw new HighkiqError('UNKNOWN_RETRY', `task ${task} had no delayed retry ${undo} within the last hour`)
      }
      const state = await remember(key, 'undone', KEPT_SECONDS, 'waiting')
      const isUndone = state === null || state === 'undone'
      if (isUndone) cancel(key)
      return isUndone
    },
    /** Cancels the retries that have not begun. Their rows stay rejected, and one warning says so. */
    close(): void {
      const count = waiting.size
      if (count === 0) return
      const tasks = [...new Set([...waiting.values()].map(({ task }) => task))]
      for (const key of waiting.keys()) cancel(key)
      log.warn(
        { tasks, count },
        `the server closed before ${plural(count, 'delayed retry', 'delayed retries')} began: the rows stay rejected; retry again`,
      )
    },
  }
}

/** Returns how many rows a retry would select now. */
export function rowsMeant(reasons: readonly ReasonCount[], { status = ['failed', 'error'], ...options }: RetryOptions) {
  const { code, otherCodes } = codeFilterOf(options)
  const isMeant = (reason: ReasonCount) =>
    (status as string[]).includes(reason.status) &&
    (otherCodes ? reason.otherCodes : code === undefined || (reason.code === code && !reason.otherCodes))
  return reasons.filter(isMeant).reduce((sum, { count }) => sum + count, 0)
}
