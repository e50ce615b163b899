import { expect, test } from 'vitest'
import { checkJobOptions, checkQueueName, type JobOptions } from './definition.ts'

test.each<JobOptions>([
  {},
  { queue: 'a:b.c-d', retry: true, backtrace: 5, dead: false, tags: [] },
  { retry: 0 },
  { retry: false },
  { retryFor: 1e9, timeout: 0.1, maxCrashes: 1 },
  { timeout: Number.POSITIVE_INFINITY },
  { retryIn: () => 'kill', onExhausted: () => {} },
  { retryIn: 0 },
  { retryIn: '5m' },
  { retryIn: { minutes: 5, jitter: true } },
])('%o is fine', (options) => {
  expect(() => checkJobOptions('J', options)).not.toThrow()
})

test.each([
  { retries: 5 },
  { queue: '' },
  { queue: 'two words' },
  { queue: 5 },
  { retry: -1 },
  { retry: 1.5 },
  { retry: '5' },
  { retry: null },
  { tags: 'vip' },
  { tags: [1] },
  { retryFor: 0 },
  { retryFor: 1e9 + 1 },
  { timeout: 0 },
  { timeout: Number.NaN },
  { maxCrashes: 0 },
  { maxCrashes: 1.5 },
  { backtrace: '5' },
  { backtrace: -1 },
  { dead: 5 },
  { track: 1 },
  { retryIn: -1 },
  { retryIn: Number.NaN },
  { retryIn: 'soon' },
  { retryIn: 'kill' },
  { retryIn: { jitter: true } },
  { onExhausted: 'x' },
  { logLevel: 'trace' },
  { expiresIn: '5' },
  { keepResult: Number.POSITIVE_INFINITY },
  { thread: 5 },
])('%o is refused', (options) => {
  expect(() => checkJobOptions('J', options as JobOptions)).toThrow(
    expect.objectContaining({ name: 'HighkiqError', code: 'INVALID_OPTION' }),
  )
})

test('an unknown option is refused with the known ones', () => {
  expect(() => checkJobOptions('J', { retries: 5 } as JobOptions)).toThrow(/^J: there is no option retries; .*retryIn/)
})

test.each(['default', 'a', 'critical-1', 'app:mail', 'ключ', '...', 'a..', '~.'])('%o is a queue name', (queue) => {
  expect(() => checkQueueName(queue)).not.toThrow()
})

test.each(['', ' ', 'a b', 'a\n', '{a}', 'a}', '.', '..', '\0', 'a\x1b[31m', 'a\x7f', 'a\x85', undefined, null, 5])(
  '%o is no queue name',
  (queue) => {
    expect(() => checkQueueName(queue as string)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
  },
)

test('a wrong value is refused with the name of the option, the value, and the right values', () => {
  const refused = (options: object) => () => checkJobOptions('J', options)
  expect(refused({ retry: '5' })).toThrow('J: retry must be true, false or a whole number of retries (got "5")')
  expect(refused({ onExhausted: 'x' })).toThrow('J: onExhausted must be a function (got "x")')
  expect(refused({ retryIn: '5 apples' })).toThrow(/^J: retryIn must be a number of seconds, .* \(got "5 apples"\)$/)
})
