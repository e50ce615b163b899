/** Repeats pushes whose answer was lost. */

import { setTimeout as sleep } from 'node:timers/promises'
import { isUnreachable, PushError } from '../job/errors.ts'

/** Milliseconds for which an idempotent push is repeated: a store remembers its id for longer. */
const RESEND_MS = 30_000

/** Repeats an idempotent push while the store is unreachable. @throws PushError */
export async function resend<T>(push: () => Promise<T>): Promise<T> {
  const end = performance.now() + RESEND_MS
  // The monotonic clock may stand still while the machine is suspended, and the store forgets the id meanwhile.
  const until = Date.now() + RESEND_MS
  const isOver = (ms = 0) => performance.now() + ms > end || Date.now() + ms > until
  let maybePushed = false
  for (let pause = 50; ; pause = Math.min(pause * 2, 2000)) {
    let failure: PushError
    try {
      return await push()
    } catch (thrown) {
      if (!(thrown instanceof PushError)) throw thrown
      // An earlier attempt may have stored the jobs that the last one did not.
      const parts = maybePushed ? undefined : thrown.parts
      maybePushed ||= thrown.maybePushed
      failure = new PushError(thrown.message, thrown.jids, maybePushed, { cause: thrown.cause, parts })
    }
    if (isOver(pause) || !isUnreachable(failure.cause)) throw failure
    await sleep(pause * (0.5 + Math.random() / 2))
    // The process was stopped, or the machine was suspended.
    if (isOver()) throw failure
  }
}
