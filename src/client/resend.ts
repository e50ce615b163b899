/** Repeats pushes whose answer was lost. */

import { setTimeout as sleep } from 'node:timers/promises'
import { type ErrorCode, hasCode, PushError } from '../job/errors.ts'

/** Milliseconds for which an idempotent push is repeated: a store remembers its id for longer. */
const RESEND_MS = 30_000
const UNREACHABLE: readonly ErrorCode[] = ['STORE_UNREACHABLE', 'STORE_TIMEOUT']

/** Repeats an idempotent push while the store is unreachable. @throws PushError */
export async function resend<T>(push: () => Promise<T>): Promise<T> {
  const end = performance.now() + RESEND_MS
  let maybePushed = false
  for (let pause = 50; ; pause = Math.min(pause * 2, 2000)) {
    try {
      return await push()
    } catch (thrown) {
      if (!(thrown instanceof PushError)) throw thrown
      const isFirst = !maybePushed
      maybePushed ||= thrown.maybePushed
      if (!UNREACHABLE.some((code) => hasCode(thrown.cause, code)) || performance.now() + pause > end) {
        // An earlier attempt may have stored the jobs that the last one did not.
        const parts = isFirst || !maybePushed ? thrown.parts : undefined
        throw new PushError(thrown.message, thrown.jids, maybePushed, { cause: thrown.cause, parts })
      }
    }
    await sleep(pause * (0.5 + Math.random() / 2))
  }
}
