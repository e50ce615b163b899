import { afterEach, expect, test, vi } from 'vitest'
import type { Logger } from '../job/logger.ts'
import type { Payload } from '../job/payload.ts'
import { Hooks } from './hooks.ts'

afterEach(() => {
  vi.useRealTimers()
})

test('a death handler that never answers is reported after 30 seconds, and the others are called', async () => {
  vi.useFakeTimers()
  const lines: string[] = []
  const hooks = new Hooks(() => ({ error: (_about: object, line: string) => lines.push(line) }) as unknown as Logger)
  const called: string[] = []
  hooks.death.push(
    () => {
      throw new Error('broken')
    },
    () => new Promise(() => {}),
    (payload) => called.push(payload.jid),
  )
  const died = hooks.died({ class: 'Pay', jid: 'j', queue: 'default', args: [] } as Payload, new Error('no'))
  await vi.advanceTimersByTimeAsync(29_999)
  expect(called).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  await died
  expect(called).toEqual(['j'])
  expect(lines).toEqual(['broken', 'onDeath: a handler for Pay j did not answer within 30 s'])
})
