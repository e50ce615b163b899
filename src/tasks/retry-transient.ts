import { setTimeout as sleep } from 'node:timers/promises'
import { type ErrorCode, hasCode } from '../job/errors.ts'

/** A store that is away for longer than this has no patience left to expect. */
const PATIENCE_MS = 60_000
const AWAY: readonly ErrorCode[] = ['STORE_UNREACHABLE', 'STORE_TIMEOUT']

/** Asks again while the store is away: only for what may be repeated without harm. */
export async function retryTransient<T>(work: () => Promise<T>): Promise<T> {
  const end = performance.now() + PATIENCE_MS
  for (let pause = 50; ; pause = Math.min(pause * 2, 2000)) {
    try {
      return await work()
    } catch (thrown) {
      if (!AWAY.some((code) => hasCode(thrown, code)) || performance.now() + pause > end) throw thrown
    }
    await sleep(pause * (0.5 + Math.random() / 2))
  }
}
