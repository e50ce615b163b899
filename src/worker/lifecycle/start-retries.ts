/** Repeats the first calls of a worker when a connection breaks under them. */

import { setTimeout as sleep } from 'node:timers/promises'
import { HighkiqError } from '../../job/errors.ts'
import type { Logger } from '../../job/logger.ts'

/** After this long the error of a lost connection is thrown. */
const RETRY_MS = 10_000
const PAUSE_MS = 50
/** A worker waits at most this long for leases of an older version to end. */
const MAX_WAIT_MS = 60_000

/** Calls `work`, which may be repeated, until no connection breaks under it. @throws at once when it can't connect */
export async function retryLostCalls(work: () => Promise<void>): Promise<void> {
  const end = performance.now() + RETRY_MS
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
 * Calls `open`. If leases of an older version have not ended, it waits for their end, because their owners may be dead, and
 * calls `open` once more. @throws what the second attempt throws, and the reason of `signal` when that aborts meanwhile
 */
export async function openWhenPossible(open: () => Promise<void>, log: Logger, signal?: AbortSignal): Promise<void> {
  try {
    return await open()
  } catch (thrown) {
    const ms = thrown instanceof HighkiqError ? thrown.details?.retryAfterMs : undefined
    if (typeof ms !== 'number') throw thrown
    log.warn({}, `the worker waits to start: ${(thrown as Error).message}`)
    await sleep(Math.min(ms + PAUSE_MS, MAX_WAIT_MS), undefined, { signal }).catch(() => signal?.throwIfAborted())
  }
  await open()
}

/** Returns whether the connection broke before the answer came. */
function wasLost(thrown: unknown): boolean {
  return thrown instanceof HighkiqError && thrown.code === 'STORE_UNREACHABLE' && thrown.details?.sent !== undefined
}
