import { setTimeout as sleep } from 'node:timers/promises'
import { type ErrorCode, hasCode, PushError } from '../job/errors.ts'

/** A store remembers for longer than this what it must not store twice. */
const PATIENCE_MS = 30_000
const AWAY: readonly ErrorCode[] = ['STORE_UNREACHABLE', 'STORE_TIMEOUT']

/** Pushes again and again while the store is away: only what it stores once however often it comes. @throws PushError */
export async function resend(push: () => Promise<void>): Promise<void> {
  const end = performance.now() + PATIENCE_MS
  let maybePushed = false
  for (let pause = 50; ; pause = Math.min(pause * 2, 2000)) {
    try {
      return await push()
    } catch (thrown) {
      if (!(thrown instanceof PushError)) throw thrown
      const isFirst = !maybePushed
      maybePushed ||= thrown.maybePushed
      if (!AWAY.some((code) => hasCode(thrown.cause, code)) || performance.now() + pause > end) {
        // An earlier attempt may have stored the jobs that the last one did not.
        const parts = isFirst || !maybePushed ? thrown.parts : undefined
        throw new PushError(thrown.message, thrown.jids, maybePushed, { cause: thrown.cause, parts })
      }
    }
    await sleep(pause * (0.5 + Math.random() / 2))
  }
}
