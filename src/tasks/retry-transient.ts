import { setTimeout as sleep } from 'node:timers/promises'
import { type ErrorCode, hasCode } from '../job/errors.ts'

/** The error is thrown once the store was away this long. */
const MAX_WAIT_MS = 60_000
const AWAY: readonly ErrorCode[] = ['STORE_UNREACHABLE', 'STORE_TIMEOUT']

/** Repeats a call while the store does not answer, for up to a minute. The call must be safe to repeat. */
export async function retryTransient<T>(work: () => Promise<T>): Promise<T> {
  const end = performance.now() + MAX_WAIT_MS
  for (let pause = 50; ; pause = Math.min(pause * 2, 2000)) {
    try {
      return await work()
    } catch (thrown) {
      if (!AWAY.some((code) => hasCode(thrown, code)) || performance.now() + pause > end) throw thrown
    }
    await sleep(pause * (0.5 + Math.random() / 2))
  }
}
