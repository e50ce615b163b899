import { expect, test, vi } from 'vitest'
import {
  BatchFailure,
  BusinessFailure,
  classOf,
  Discard,
  HighkiqError,
  hasCode,
  isCausedBy,
  Kill,
  messageFor,
  messageOf,
  PushError,
  Release,
  Snooze,
  verdictOf,
} from './errors.ts'

test('an error has a code, an HTTP status and its cause', () => {
  const cause = new Error('below')
  const error = new HighkiqError('ARGS_TOO_LARGE', 'too large', { bytes: 5 }, { cause })
  const about = { code: 'ARGS_TOO_LARGE', status: 413, details: { bytes: 5 } }
  expect(error).toMatchObject({ name: 'HighkiqError', ...about, cause })
  expect(new HighkiqError('UNKNOWN_JOB', 'x').details).toBeUndefined()
})

test('a PushError has the jids, and whether they may be stored', () => {
  const error = new PushError('no', ['a'], true)
  expect(error).toBeInstanceOf(HighkiqError)
  expect(error).toMatchObject({ name: 'PushError', code: 'PUSH_FAILED', jids: ['a'], maybePushed: true, status: 503 })
})

test.each([
  [new BusinessFailure('x'), 'business-failure'],
  [new BatchFailure(new Map()), 'batch-failure'],
  [new Discard(), 'discard'],
  [new Kill(), 'kill'],
  [new Snooze(1), 'snooze'],
  [new Release(), 'release'],
  // Of another copy of the package.
  [{ highkiq: 'kill' }, 'kill'],
  [new Error('x'), undefined],
  [{ highkiq: 5 }, undefined],
  ['kill', undefined],
  [null, undefined],
  [undefined, undefined],
])('%o says %o', (thrown, verdict) => {
  expect(verdictOf(thrown)).toBe(verdict)
})

test('instanceof recognises the errors of another copy of the package, each by its own class', async () => {
  vi.resetModules()
  const other = await import('./errors.ts')
  expect(other.HighkiqError).not.toBe(HighkiqError)
  const theirs = [new other.HighkiqError('NO_RESULT', 'none'), new other.PushError('lost', ['a'], true)]
  expect(theirs.map((error) => error instanceof HighkiqError)).toEqual([true, true])
  expect(theirs.map((error) => error instanceof PushError)).toEqual([false, true])
  class Ours extends HighkiqError {}
  expect([new Ours('NO_RESULT', 'none') instanceof Ours, theirs[0] instanceof Ours]).toEqual([true, false])
  expect(new Ours('NO_RESULT', 'none') instanceof HighkiqError).toBe(true)
  const others: unknown[] = [null, undefined, 'text', {}, Object.create(null), { constructor: null }, new Error('x')]
  for (const value of others) {
    expect(value instanceof HighkiqError).toBe(false)
  }
})

test('a business failure carries its code and field', () => {
  const cause = new Error('below')
  const failure = new BusinessFailure('no', { code: 'bad_price', field: 'price', cause })
  expect(failure).toMatchObject({ name: 'BusinessFailure', message: 'no', code: 'bad_price', field: 'price', cause })
})

test('a BatchFailure has the failed indexes with their errors', () => {
  const failures = new Map<string | number, unknown>().set(2, new Error('two')).set('id', 'text')
  expect(new BatchFailure(failures)).toMatchObject({ name: 'BatchFailure', message: '2 failed', failures })
  expect(new BatchFailure(failures, 'no stock').message).toBe('no stock')
})

test('codeOf accepts any value', () => {
  expect(hasCode(new HighkiqError('SHUTDOWN', 'x'), 'SHUTDOWN')).toBe(true)
  expect(hasCode({ code: 'SHUTDOWN' }, 'SHUTDOWN')).toBe(true)
  for (const other of [null, undefined, 'SHUTDOWN', {}, new Error('SHUTDOWN')])
    expect(hasCode(other, 'SHUTDOWN')).toBe(false)
})

test('messageOf returns a message for any value', () => {
  const evil = Object.defineProperty(new Error(), 'message', { get: () => JSON.parse('no JSON') })
  expect(messageOf(new Error('x'))).toBe('x')
  expect(messageOf('text')).toBe('text')
  expect(messageOf(undefined)).toBe('undefined')
  expect(messageOf(5n)).toBe('5')
  expect(messageOf(Object.assign(new Error('x'), { message: 7 }))).toBe('7')
  for (const strange of [Object.create(null), Symbol('s'), evil]) {
    expect(messageOf(strange)).toBe('!!! ERROR MESSAGE THREW AN ERROR !!!')
  }
})

test('messageOf returns the message of a thrown object that is no Error, or else the JSON of its simple members', () => {
  const circle: { self?: object } = {}
  circle.self = circle
  expect(messageOf({ code: 5, message: 'obj' })).toBe('obj')
  expect(messageOf({ code: 5 })).toBe('{"code":5}')
  expect(messageOf({ status: 401, request: { authorization: 'secret' } })).toBe('{"status":401}')
  expect(messageOf({ text: 'x'.repeat(5000) })).toHaveLength(1000)
  expect(messageOf(circle)).toBe('[object Object]')
  expect(messageOf({ toString: () => 'its own' })).toBe('its own')
})

test('a code is found among the causes, also when they form a cycle', () => {
  const shutdown = new HighkiqError('SHUTDOWN', 'x')
  expect(isCausedBy(shutdown, 'SHUTDOWN')).toBe(true)
  expect(isCausedBy(new Error('a', { cause: new Error('b', { cause: shutdown }) }), 'SHUTDOWN')).toBe(true)
  const circle = new Error('a')
  circle.cause = new Error('b', { cause: circle })
  expect(isCausedBy(circle, 'SHUTDOWN')).toBe(false)
  for (const other of [null, undefined, 'x', new Error('x', { cause: 'SHUTDOWN' })]) {
    expect(isCausedBy(other, 'SHUTDOWN')).toBe(false)
  }
})

test('an error has the name of its own class, not of a parent class', () => {
  class UnknownSku extends BusinessFailure {}
  class NotFound extends Error {}
  class Gone extends NotFound {}
  class BadRange extends RangeError {}
  class Named extends Error {
    override name = 'InvalidPrice'
  }
  class Deeper extends Named {}
  expect(classOf(new UnknownSku('x'))).toBe('UnknownSku')
  expect(classOf(new NotFound('x'))).toBe('NotFound')
  expect(classOf(new Gone('x'))).toBe('Gone')
  expect(classOf(new BadRange('x'))).toBe('BadRange')
  expect(classOf(new BusinessFailure('x'))).toBe('BusinessFailure')
  expect(classOf(new TypeError('x'))).toBe('TypeError')
  expect(classOf(new DOMException('x', 'AbortError'))).toBe('AbortError')
  // A name that the app chose is kept.
  expect(classOf(new Named('x'))).toBe('InvalidPrice')
  expect(classOf(new Deeper('x'))).toBe('InvalidPrice')
  expect(classOf(Object.assign(new Error('x'), { name: 'FromAfar' }))).toBe('FromAfar')
  expect(classOf(new (class extends BusinessFailure {})('x'))).toBe('BusinessFailure')
  expect(classOf('x')).toBe('string')
})

test('a message for a program names no method of the library', () => {
  const texts = ["jobs.act('retry'): the filter: from must be a Date", 'jobs.search: from must be a Date']
  for (const text of texts) expect(messageFor(new Error(text), {})).toMatch(/^(?:the filter: )?from must be a Date$/)
  expect(messageFor(new Error('jobs.ts: no app'), {})).toBe('jobs.ts: no app')
})
