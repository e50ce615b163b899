import { expect, test } from 'vitest'
import { type Entry, lineOf, lineOptions } from './line.ts'

const time = Date.UTC(2026, 10, 21, 10, 40, 12, 5)
const context = { jid: 'abc', class: 'Hard Job', tags: ['a b'], n: 1 }
const entry: Entry = { level: 30, time, pid: 7, hostname: 'h', ...context, msg: 'start' }

test("plain: Sidekiq's text format", () => {
  const line = 'INFO  2026-11-21T10:40:12.005Z pid=7 tid=0 jid=abc class="Hard Job" tags=["a b"] n=1: start'
  expect(lineOf(entry, { format: 'plain', time: true })).toBe(line)
  expect(lineOf(entry, { format: 'plain', time: false })).toBe(line.replace('2026-11-21T10:40:12.005Z ', ''))
})

test('plain: the stack of an error below its line, and no forged line from a text', () => {
  const err = { type: 'Error', message: 'no', stack: 'Error: no\n    at x' }
  const line = lineOf({ level: 50, pid: 7, err, name: 'a\nb', msg: 'n\no' }, { format: 'plain', time: false })
  expect(line).toBe('ERROR pid=7 tid=0 name="a\\nb": n\\no\nError: no\n    at x')
})

test('plain: control characters and line breaks of any value are escaped', () => {
  const fields = { esc: '\u001b[2K', next: 'a\u0085b', 'na\nme': 1, msg: 'a\rINFO\u001b[2K\u2028b\tc' }
  expect(lineOf({ level: 50, pid: 7, ...fields }, { format: 'plain', time: false })).toBe(
    'ERROR pid=7 tid=0 esc=\\u001b[2K next=a\\u0085b na\\nme=1: a\\rINFO\\u001b[2K\\u2028b\\tc',
  )
})

test('plain: no line of an error looks like a line of the log', () => {
  const stack = 'Error: no\nINFO  pid=7 tid=0: forged\r\n    at x\u001b[2K'
  const line = lineOf({ level: 50, pid: 7, err: { stack }, msg: 'failed' }, { format: 'plain', time: false })
  expect(line).toBe('ERROR pid=7 tid=0: failed\nError: no\n    INFO  pid=7 tid=0: forged\n    at x\\u001b[2K')
})

test("sidekiq: Sidekiq's JSON, always with its time", () => {
  const ts = '2026-11-21T10:40:12.005Z'
  const line = { ts, pid: 7, tid: 'x', lvl: 'INFO', msg: 'start', ctx: context }
  expect(JSON.parse(lineOf(entry, { format: 'sidekiq', time: false }, 'x'))).toEqual(line)
})

test("json: pino's", () => {
  expect(JSON.parse(lineOf(entry, { format: 'json', time: true }))).toEqual(entry)
  const { time: _, ...rest } = entry
  expect(JSON.parse(lineOf(entry, { format: 'json', time: false }))).toEqual(rest)
})

test.for<[isTTY: boolean, env: Record<string, string>, options: object]>([
  [true, {}, { format: 'pretty', time: true }],
  [false, {}, { format: 'json', time: true }],
  [true, { HIGHKIQ_LOG_FORMAT: 'sidekiq' }, { format: 'sidekiq', time: true }],
  [false, { HIGHKIQ_LOG_FORMAT: 'xml', DYNO: 'web.1' }, { format: 'json', time: false }],
])('terminal %j, %j', ([isTTY, env, options]) => {
  expect(lineOptions(isTTY, env)).toEqual(options)
})

test.for(['plain', 'json', 'sidekiq'] as const)('%s: no integer is rounded', (format) => {
  const big = { ...entry, n: 9007199254740993n, payload: { args: [-9007199254740993n, 'a b'] } }
  const line = lineOf(big, { format, time: true })
  expect(line).toMatch(/\bn"?[=:]9007199254740993\b/)
  expect(line).toContain('{"args":[-9007199254740993,"a b"]}')
})
