import { inflateSync } from 'node:zlib'
import { expect, test } from 'vitest'
import type { JobOptions } from '../job/definition.ts'
import { Kill } from '../job/errors.ts'
import type { Payload } from '../job/payload.ts'
import { judge } from './retry.ts'

const NOW = 1_700_000_000_000

/** The verdict on a job of these options that failed. */
function verdict(more: Partial<Payload> = {}, options: JobOptions | null = {}, error: unknown = new Error('x')) {
  const payload: Payload = { class: 'J', args: [], queue: 'q', jid: 'j', ...more }
  return judge({
    text: JSON.stringify(payload),
    payload,
    queue: 'q',
    error,
    now: NOW,
    wire: 8,
    definition: options ? { name: 'J', options, handler: async () => {} } : undefined,
    maxRetries: 25,
    random: () => 0,
    report: () => {},
    changes: {},
  })
}

test.each<[unknown, JobOptions | null, string]>([
  [true, {}, 'retry'],
  [1, {}, 'retry'],
  [0, {}, 'exhausted'],
  [false, {}, 'dropped'],
  [undefined, {}, 'retry'],
  [null, {}, 'retry'],
  [undefined, { retry: false }, 'dropped'],
  [null, { retry: 0 }, 'exhausted'],
  [true, { retry: 0 }, 'retry'],
  // Of a class that is not known here the payload alone tells.
  [true, null, 'retry'],
  [3, null, 'retry'],
  [undefined, null, 'dropped'],
  [null, null, 'dropped'],
])('retry: %o of a job defined with %o: %s', (retry, options, kind) => {
  expect(verdict({ retry: retry as boolean }, options).kind).toBe(kind)
})

test('retry: N is N retries, so N + 1 runs', () => {
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
  const text = 'text' in first ? first.text : ''
  expect(JSON.parse(text)).toMatchObject({ retry_count: 0, failed_at: NOW })
  expect(JSON.parse(text)).not.toHaveProperty('retried_at')
  const again = verdict({ retry_count: 0, failed_at: 5 })
  expect(again).toMatchObject({ count: 1, at: NOW / 1000 + 16 })
  expect(JSON.parse('text' in again ? again.text : '')).toMatchObject({ retry_count: 1, failed_at: 5, retried_at: NOW })
})

test('a job that was retried by hand (-1) begins to count anew', () => {
  expect(verdict({ retry_count: -1, failed_at: 5 })).toMatchObject({ kind: 'retry', count: 0 })
})

test('Kill ends also a job that is never retried', () => {
  for (const retry of [true, 0, false]) {
    expect(verdict({ retry }, {}, new Kill())).toMatchObject({ kind: 'exhausted', dead: true })
  }
})

test('dead: false keeps a job out of the dead set, by its payload before its definition', () => {
  expect(verdict({ retry: 0, dead: false })).toMatchObject({ dead: false })
  expect(verdict({ retry: 0 }, { dead: false })).toMatchObject({ dead: false })
  expect(verdict({ retry: 0, dead: true }, { dead: false })).toMatchObject({ dead: true })
})

test('a backtrace has the stack’s lines only, however many lines the message has', () => {
  const error = new Error('one\ntwo\nthree')
  const answer = verdict({ backtrace: 2 }, {}, error)
  const stored = JSON.parse('text' in answer ? answer.text : '').error_backtrace
  const lines = JSON.parse(inflateSync(Buffer.from(stored, 'base64')).toString())
  expect(lines).toHaveLength(2)
  for (const line of lines) expect(line).toMatch(/^at /)
})

test('an empty message is stored as it is', () => {
  const answer = verdict({}, {}, new Error(''))
  expect(JSON.parse('text' in answer ? answer.text : '')).toMatchObject({ error_message: '', error_class: 'Error' })
})
