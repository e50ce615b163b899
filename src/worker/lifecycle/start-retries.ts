/** The first calls of a worker: a connection that breaks under them is made anew, and they are made again. */

import { setTimeout as sleep } from 'node:timers/promises'
import { HighkiqError } from '../../job/errors.ts'
import type { Logger } from '../../job/logger.ts'

/** A store that does not hold still for so long is told of. */
const PATIENCE_MS = 10_000
const PAUSE_MS = 50
/** A worker waits no longer for leases of an older version to end. */
const LONGEST_WAIT_MS = 60_000

/** `work` may be repeated without harm. @throws at once when there is no connection to be had */
export async function retryLostCalls(work: () => Promise<void>): Promise<void> {
  const end = performance.now() + PATIENCE_MS
  for (;;) {
    try {
      return await work()
    } catch (thrown) {
      if (!wasLost(thrown) || performance.now() > end) throw thrown
    }
    await sleep(PAUSE_MS * (0.5 + Math.random()))
  }
}

/**
 * Joins. Where leases of an older version have not ended, their owners may be dead: then it waits for the end, and tries
 * once more. @throws what the second attempt throws, and the reason of `signal` when that aborts meanwhile
 */
export async function joinWhenPossible(join: () => Promise<void>, log: Logger, signal: AbortSignal): Promise<void> {
  try {
    return await join()
  } catch (thrown) {
    const ms = thrown instanceof HighkiqError ? thrown.details?.retryAfterMs : undefined
    if (typeof ms !== 'number') throw thrown
    log.warn({}, `the worker waits to start: ${(thrown as Error).message}`)
    await sleep(Math.min(ms + PAUSE_MS, LONGEST_WAIT_MS), undefined, { signal }).catch(() => signal.throwIfAborted())
  }
  await join()
}

/** There was a connection, and the answer did not come. */
function wasLost(thrown: unknown): boolean {
  return thrown instanceof HighkiqError && thrown.code === 'STORE_UNREACHABLE' && thrown.details?.sent !== undefined
}
