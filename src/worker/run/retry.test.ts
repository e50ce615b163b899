import { inflateSync } from 'node:zlib'
import { expect, test } from 'vitest'
import type { JobOptions } from '../../job/definition.ts'
import { Kill } from '../../job/errors.ts'
import type { Payload } from '../../job/payload.ts'
import { type Failure, judge, type RetryRules, type Verdict } from './retry.ts'

const NOW = 1_700_000_000_000

/** The verdict on a job of these options that failed. */
function verdict(
  more: Partial<Payload> = {},
  options: JobOptions | null = {},
  error: unknown = new Error('x'),
  about: Partial<RetryRules & Failure> = {},
) {
  const payload: Payload = { class: 'J', args: [], queue: 'q', jid: 'j', ...more }
  const definition = options ? { name: 'J', options, handler: async () => {} } : undefined
  const limits = { retries: 25, dead: 1, deadSeconds: 1 }
  const rules = { wire: 8 as const, limits, random: () => 0, report: () => {}, ...about }
  const fetched = { queue: 'q', ticket: 't', text: JSON.stringify(payload) }
  const failure = { error, now: NOW, hooks: options ?? undefined, changes: {}, ...about }
  return judge(rules, { fetched, payload, definition }, failure)
}

/** The job as it is stored then. */
function stored(answer: Verdict): Payload & Record<string, unknown> {
  return JSON.parse('text' in answer ? answer.text : '{}')
}

function broken(): never {
  throw new Error('no broom')
}

const lines = (text: unknown) => JSON.parse(inflateSync(Buffer.from(String(text), 'base64')).toString()) as string[]

const BY_RETRY: [options: JobOptions | null, kind: string, retries: unknown[]][] = [
  [{}, 'retry', [true, 1, undefined, null]],
  [{}, 'exhausted', [0]],
  [{}, 'deleted', [false]],
  [{ retry: false }, 'deleted', [undefined]],
  [{ retry: 0 }, 'exhausted', [null]],
  [{ retry: 0 }, 'retry', [true]],
  // Of a class that is not known here the payload alone tells.
  [null, 'retry', [true, 3]],
  [null, 'exhausted', [0]],
  [null, 'deleted', [undefined, null]],
  // Not a whole number, and not false: as often as by default.
  [{}, 'retry', ['yes', 0.5]],
  [{}, 'exhausted', [-1]],
]

test.each(BY_RETRY.flatMap(([options, kind, retries]) => retries.map((retry) => [retry, options, kind] as const)))(
  'retry: %o of a job defined with %o: %s',
  (retry, options, kind) => {
    expect(verdict({ retry: retry as boolean }, options).kind).toBe(kind)
  },
)

test('retry: N means N retries and N + 1 runs', () => {
  const runs = (retry: boolean | number) => {
    let payload: Partial<Payload> = { retry }
    for (let n = 1; ; n++) {
      const answer = verdict(payload)
      if (answer.kind !== 'retry') return n
      payload = JSON.parse(answer.text)
    }
  }
  expect(runs(0)).toBe(1)
  expect(runs(1)).toBe(2)
  expect(runs(5)).toBe(6)
  expect(runs(true)).toBe(26)
})

test('the first failure is failed_at, each later one retried_at', () => {
  const first = verdict()
  expect(first).toMatchObject({ kind: 'retry', count: 0, at: NOW / 1000 + 15 })
  expect(stored(first)).toMatchObject({ retry_count: 0, failed_at: NOW })
  expect(stored(first)).not.toHaveProperty('retried_at')
  const again = verdict({ retry_count: 0, failed_at: 5 })
  expect(again).toMatchObject({ count: 1, at: NOW / 1000 + 16 })
  expect(stored(again)).toMatchObject({ retry_count: 1, failed_at: 5, retried_at: NOW })
})

test('Kill moves a job without retries to the dead set, too', () => {
  for (const retry of [true, 0, false]) {
    expect(verdict({ retry }, {}, new Kill())).toMatchObject({ kind: 'exhausted', dead: true })
  }
})

test('dead: false keeps a job out of the dead set, by its payload before its definition', () => {
  expect(verdict({ retry: 0, dead: false })).toMatchObject({ dead: false })
  expect(verdict({ retry: 0 }, { dead: false })).toMatchObject({ dead: false })
  expect(verdict({ retry: 0, dead: true }, { dead: false })).toMatchObject({ dead: true })
})

test('retry: true counts to maxRetries, a number does not', () => {
  expect(
    verdict({ retry: true, retry_count: 1 }, {}, undefined, { limits: { retries: 2, dead: 1, deadSeconds: 1 } }).kind,
  ).toBe('exhausted')
  expect(
    verdict({ retry: 3, retry_count: 1 }, {}, undefined, { limits: { retries: 2, dead: 1, deadSeconds: 1 } }).kind,
  ).toBe('retry')
})

test('with retry_for the count does not matter, also not 0; without it the time does not', () => {
  const since = (seconds: number) => ({ retry_count: 30, failed_at: NOW - seconds * 1000 })
  expect(verdict({ retry: 1, retry_for: 60, ...since(60) }).kind).toBe('retry')
  expect(verdict({ retry: 1, retry_for: 60, ...since(61) }).kind).toBe('exhausted')
  expect(verdict({ retry: 0, retry_for: 60 }).kind).toBe('retry')
  expect(verdict({ retry: false, retry_for: 60 }).kind).toBe('deleted')
  expect(verdict({ retry: 99, ...since(1e6) }).kind).toBe('retry')
  // Sidekiq 7 wrote seconds with a fraction.
  expect(verdict({ retry_for: 60, retry_count: 1, failed_at: NOW / 1000 - 60.5 }).kind).toBe('exhausted')
  expect(verdict({ retry_for: 60, retry_count: 1, failed_at: NOW / 1000 - 59.5 }).kind).toBe('retry')
})

test('retryIn gets the current payload of the job', () => {
  const seen: unknown[] = []
  verdict({ retry_count: 3, failed_at: 5 }, { retryIn: (count, _error, payload) => void seen.push([count, payload]) })
  expect(seen).toMatchObject([[4, { retry_count: 4, retried_at: NOW, error_message: 'x', error_class: 'Error' }]])
})

test("hooks of another class decide about a job's retries", () => {
  expect(verdict({}, { retry: 0 }, undefined, { hooks: { retryIn: () => 'kill' } }).kind).toBe('exhausted')
  const discarded = verdict({}, {}, undefined, { hooks: { retryIn: () => 'discard' } })
  expect(discarded).toMatchObject({ kind: 'deleted', payload: { discarded_at: NOW, retry_count: 0 } })
  // It is not asked when there is nothing left to ask.
  const never = { hooks: { retryIn: () => expect.unreachable() } }
  expect(verdict({ retry: 0 }, {}, undefined, never).kind).toBe('exhausted')
  expect(verdict({}, {}, new Kill(), never).kind).toBe('exhausted')
})

test("jitter is added to Sidekiq's delays, below 10 s for each failure so far, and to a delay that asks for it", () => {
  const at = (count: number, options: JobOptions = {}) => {
    const answer = verdict({ retry_count: count - 1, failed_at: 5 }, options, undefined, { random: () => 0.999 })
    return answer.kind === 'retry' ? Math.round(answer.at - NOW / 1000) : answer.kind
  }
  expect([at(0), at(1), at(2)]).toEqual([15 + 9, 16 + 19, 31 + 29])
  expect(at(2, { retryIn: () => 'default' })).toBe(31 + 29)
  for (const exact of [100, '100s', { seconds: 40, minutes: 1 }] as const) {
    expect(at(2, { retryIn: exact })).toBe(100)
    expect(at(2, { retryIn: () => exact })).toBe(100)
  }
  expect(at(2, { retryIn: { seconds: 100, jitter: true } })).toBe(100 + 29)
  expect(at(2, { retryIn: () => ({ seconds: 100, jitter: true }) })).toBe(100 + 29)
  expect(at(2, { retryIn: { seconds: 100, jitter: false } })).toBe(100)
  expect(at(2, { retryIn: 0 })).toBe(0)
})

test('the queue becomes a valid retry_queue, else the queue from which the job was fetched', () => {
  expect(stored(verdict({ queue: 'old' })).queue).toBe('q')
  expect(stored(verdict({ queue: 'old', retry_queue: 'slow' })).queue).toBe('slow')
  for (const retry_queue of ['', null, 5]) {
    expect(stored(verdict({ retry_queue: retry_queue as string })).queue).toBe('q')
  }
})

test("a message is stored with at most 10,000 whole characters, or as a fixed text when it can't be read", () => {
  const message = (error: unknown) => stored(verdict({}, {}, error)).error_message
  expect(message(new Error('\ud800!'))).toBe('\ufffd!')
  expect(message(new Error('🦙'.repeat(10_001)))).toBe('🦙'.repeat(10_000))
  expect(message(new Error(''))).toBe('')
  expect(message(Object.defineProperty(new Error(), 'message', { get: broken }))).toBe(
    '!!! ERROR MESSAGE THREW AN ERROR !!!',
  )
})

test("the error class is the name of the error, else its constructor's", () => {
  class Mine extends Error {}
  class Named extends Error {
    override name = 'Other'
  }
  const nameless = Object.defineProperty(new Error('x'), 'name', { get: broken })
  const errors = [new Mine(), new Named(), new TypeError(), new Error(''), 'text', undefined, nameless]
  const names = errors.map((error) => stored(verdict({}, {}, error ?? null)).error_class)
  expect(names).toEqual(['Mine', 'Other', 'TypeError', 'Error', 'string', 'object', 'Error'])
})

test('a backtrace is cleaned before it is cut; if the cleaner throws, it is stored unchanged', () => {
  const error = Object.assign(new Error('x'), { stack: 'Error: x\n    at a\n    at node:b\n    at c\n    at d' })
  const backtraceCleaner = (all: string[]) => all.filter((line) => !line.includes('node:'))
  const cleaned = verdict({ backtrace: 2 }, {}, error, { backtraceCleaner })
  expect(lines(stored(cleaned).error_backtrace)).toEqual(['at a', 'at c'])
  const reported: unknown[] = []
  const uncleaned = verdict({ backtrace: true }, {}, error, {
    report: (thrown, { during }) => reported.push([(thrown as Error).message, during]),
    backtraceCleaner: broken,
  })
  expect(lines(stored(uncleaned).error_backtrace)).toEqual(['at a', 'at node:b', 'at c', 'at d'])
  expect(reported).toEqual([['no broom', 'backtraceCleaner']])
})
