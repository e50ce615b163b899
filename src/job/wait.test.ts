import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { answerOf, unlessAborted, within } from './wait.ts'

const never = new Promise<never>(() => {})

test('within reports whether the work was done in time, and passes its error on', async () => {
  expect(await within(5, never)).toBe(false)
  expect(await within(60_000, Promise.resolve())).toBe(true)
  await expect(within(60_000, Promise.reject(new Error('no')))).rejects.toThrow('no')
})

test('the error of a timeout names the operation', async () => {
  expect(await answerOf('the oracle', 60, Promise.resolve(7))).toBe(7)
  await expect(answerOf('the oracle', 0.005, never)).rejects.toMatchObject({
    code: 'MIDDLEWARE_TIMEOUT',
    message: expect.stringContaining('the oracle did not answer within 0.005 s'),
  })
})

test('waiting ends when the signal aborts, and leaves no listener', async () => {
  const controller = new AbortController()
  const { signal } = controller
  expect(await unlessAborted(signal, Promise.resolve(7))).toBe(7)
  const waiting = unlessAborted(signal, never)
  controller.abort(new Error('enough'))
  await expect(waiting).rejects.toThrow('enough')
  await expect(unlessAborted(signal, never)).rejects.toThrow('enough')
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

test('an error of work after the wait has ended is ignored', async () => {
  const late = new Promise((_, reject) => setTimeout(() => reject(new Error('late')), 10))
  expect(await within(1, late)).toBe(false)
  await expect(late).rejects.toThrow('late')
})
