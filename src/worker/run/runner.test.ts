import { afterEach, expect, test, vi } from 'vitest'
import { messageOf } from '../../job/errors.ts'
import type { Engine } from '../engine.ts'
import { Plugins } from '../plugin.ts'
import { openAttempt } from './attempt.ts'
import { settleError } from './runner.ts'

afterEach(() => {
  vi.useRealTimers()
})

test('a job whose onExhausted never answers goes to the dead set after 30 seconds, and this is reported', async () => {
  vi.useFakeTimers()
  const reports: string[] = []
  const died: string[] = []
  const definition = { name: 'Pay', options: { onExhausted: () => new Promise(() => {}) }, handler: () => {} }
  const engine = {
    definition: () => definition,
    plugins: new Plugins(),
    cancellations: { has: () => false },
    sharedLimits: { areInUse: false },
    isBusiness: () => false,
    wire: 8,
    limits: { retries: 0, dead: 10, deadSeconds: 10 },
    now: () => 5000,
    random: () => 0,
    report: (error: unknown) => reports.push(messageOf(error)),
    died: async ({ jid }: { jid: string }) => void died.push(jid),
  } as unknown as Engine
  const text = JSON.stringify({ class: 'Pay', args: [], jid: 'j', queue: 'default', retry: 0 })
  const attempt = openAttempt(engine, { queue: 'default', ticket: 't', text })
  if (!attempt) throw new Error('the text is not a job')
  const settling = settleError(engine, attempt, new Error('no money'))
  await vi.advanceTimersByTimeAsync(29_999)
  expect(died).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  expect(await settling).toMatchObject({ ticket: 't', move: { to: 'dead' }, failed: 1 })
  expect(died).toEqual(['j'])
  expect(reports).toEqual(['no money', 'onExhausted of Pay did not answer within 30 s'])
})
