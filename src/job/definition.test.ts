import { expect, test } from 'vitest'
import { checkJobOptions, checkQueueName, type JobOptions } from './definition.ts'

const invalid = expect.objectContaining({ name: 'HighkiqError', code: 'INVALID_OPTION' })

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
  [
    'attempts',
    'J: there is no option attempts; did you mean retry: the number of attempts after the first one? There are',
  ],
  ['backoff', 'did you mean retryIn, '],
  ['removeOnComplete', 'did you mean keepFinished, '],
  ['limiter', 'for a whole queue: queues: { mail: { limit } } of new Highkiq()?'],
  ['concurrency', 'did you mean limit: { concurrency }, '],
  ['keepLogs', 'did you mean track: true, '],
  ['delay', 'did you mean performIn(seconds, …)'],
  ['repeat', 'did you mean hq.cron?'],
  ['jobId', 'did you mean set({ jid })?'],
  ['lifo', 'did you mean priority?'],
  ['stackTraceLimit', 'did you mean backtrace?'],
  ['sizeLimit', 'did you mean maxArgsBytes of new Highkiq()?'],
  ['continueParentOnFailure', 'did you mean onChildFailure, '],
])('the option %s of other queues names ours', (name, words) => {
  expect(() => checkJobOptions('J', { [name]: 3 } as JobOptions)).toThrow(words)
})

const WRONG = {
  retries: [5],
  queue: ['', 'two words', 5],
  retry: [-1, 1.5, '5', null],
  tags: ['vip', [1]],
  retryFor: [0, 1e9 + 1],
  timeout: [0, Number.NaN],
  maxCrashes: [0, 1.5],
  backtrace: ['5', -1],
  dead: [5],
  track: [1],
  retryIn: [-1, Number.NaN, 'soon', 'kill', { jitter: true }],
  onExhausted: ['x'],
  logLevel: ['trace'],
  expiresIn: ['5'],
  keepResult: [Number.POSITIVE_INFINITY],
  thread: [
    5,
    [],
    { file: 5 },
    { file: '' },
    { resourceLimits: [] },
    { resourceLimits: null },
    { resourceLimits: { maxOldGenerationSizeMB: 256 } },
    { resourceLimits: { maxOldGenerationSizeMb: '256' } },
    { resourceLimits: { stackSizeMb: 0 } },
  ],
}
const eachWrong = Object.entries(WRONG).flatMap(([name, values]) => values.map((value) => ({ [name]: value })))

test.each(eachWrong)('%o is refused', (options) => {
  expect(() => checkJobOptions('J', options as JobOptions)).toThrow(invalid)
})

test.each(['default', 'a', 'critical-1', 'app:mail', 'ключ', '...', 'a..', '~.'])('%o is a queue name', (queue) => {
  expect(() => checkQueueName(queue)).not.toThrow()
})

const controls = ['\0', 'a\n', 'a\x1b[31m', 'a\x7f', 'a\x85']
const noNames = ['', ' ', 'a b', '{a}', 'a}', '.', '..', ...controls, undefined, null, 5]

test.each(noNames)('%o is not a queue name', (queue) => {
  expect(() => checkQueueName(queue as string)).toThrow(invalid)
})

test('a queue name has at most 200 characters', () => {
  expect(() => checkQueueName('q'.repeat(200))).not.toThrow()
  expect(() => checkQueueName('q'.repeat(1201))).toThrow(
    '"qqqqqqqqqqqqqqqqqqqq…" is not a queue name: use at most 200 characters (got 1,201)',
  )
})

test.each([
  [{ retry: '5' }, 'J: retry must be true, false or a whole number of retries (got "5")'],
  [{ onExhausted: 'x' }, 'J: onExhausted must be a function (got "x")'],
  [{ retryIn: '5 apples' }, /^J: retryIn must be a number of seconds, .* \(got "5 apples"\)$/],
  [{ retries: 5 }, /^J: there is no option retries; .*retryIn/],
])('%o is refused with the name of the option, the value, and what is right', (options, words) => {
  expect(() => checkJobOptions('J', options as JobOptions)).toThrow(words)
})
