import { expect, onTestFinished, test, vi } from 'vitest'
import { HighkiqError, PushError } from '../job/errors.ts'
import { resend } from './resend.ts'

test('an idempotent push is not sent again after a suspension in which the store forgets its id', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  let calls = 0
  const push = async () => {
    if (++calls > 1) return
    // The machine is suspended in the pause that follows.
    setImmediate(() => vi.setSystemTime(Date.now() + 360_000))
    throw new PushError('gone', ['a'], true, { cause: new HighkiqError('STORE_UNREACHABLE', 'gone') })
  }
  await expect(resend(push)).rejects.toMatchObject({ code: 'PUSH_FAILED', jids: ['a'], maybePushed: true })
  expect(calls).toBe(1)
})

test('an idempotent push is sent again while the store is unreachable, and its error tells what earlier attempts may have done', async () => {
  const causes = ['STORE_UNREACHABLE', 'STORE_TIMEOUT', 'STORE_FULL'] as const
  let calls = 0
  const push = async () => {
    const cause = new HighkiqError(causes[calls++] as (typeof causes)[number], 'no')
    throw new PushError('no', ['a'], calls === 1, { cause })
  }
  await expect(resend(push)).rejects.toMatchObject({ maybePushed: true, cause: { code: 'STORE_FULL' } })
  expect(calls).toBe(3)
})
