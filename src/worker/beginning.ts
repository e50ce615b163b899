/** The first calls of a worker: a connection that breaks under them is made anew, and they are made again. */

import { setTimeout as sleep } from 'node:timers/promises'
import { HighkiqError } from '../job/errors.ts'

/** A store that does not hold still for so long is told of. */
const PATIENCE_MS = 10_000
const PAUSE_MS = 50

/** `work` may be repeated without harm. @throws at once when there is no connection to be had */
export async function beginning(work: () => Promise<void>): Promise<void> {
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

/** There was a connection, and the answer did not come. */
function wasLost(thrown: unknown): boolean {
  return thrown instanceof HighkiqError && thrown.code === 'STORE_UNREACHABLE' && thrown.details?.sent !== undefined
}
