import { expect, test } from 'vitest'
import type { JobDefinition, JobOptions } from '../job/definition.ts'
import { type PushRequest, payloadOf, type RequestContext } from './request.ts'

const NOW = 1_700_000_000_000

/** A context in which these jobs are defined, as an app defines them. */
function context(jobs: Record<string, JobOptions> = {}, defaults: JobOptions = {}): RequestContext {
  const definition = (name: string): JobDefinition | undefined => {
    const own = jobs[name]
    return own && { name, own, options: { ...defaults, ...own }, handler: async () => {} }
  }
  return { definition, defaults, wire: 8, now: () => NOW }
}

const payload = (request: object, about = context()) => payloadOf(request as PushRequest, about)

test('a push without options gets the members of every job', () => {
  const request = { class: 'J', args: [1] }
  const members = { queue: 'default', jid: expect.stringMatching(/^[0-9a-f]{24}$/), retry: true, created_at: NOW }
  expect(payload(request)).toEqual({ ...request, ...members })
})

test('the call overrides the wrapped job, which overrides the class, which overrides the defaults', () => {
  const about = context(
    { Wrapper: { queue: 'w', retry: 1, backtrace: 2 }, Mine: { retry: 5, tags: ['mine'] } },
    { queue: 'low', retry: 9, tags: ['default'], dead: false },
  )
  expect(payload({ class: 'Other', args: [] }, about)).toMatchObject({ queue: 'low', retry: 9, tags: ['default'] })
  expect(payload({ class: 'Wrapper', args: [] }, about)).toMatchObject({ queue: 'w', retry: 1, tags: ['default'] })
  const wrapped = payload({ class: 'Wrapper', wrapped: 'Mine', args: [] }, about)
  expect(wrapped).toMatchObject({ queue: 'w', retry: 5, tags: ['mine'], backtrace: 2, dead: false, wrapped: 'Mine' })
  const called = payload({ class: 'Wrapper', wrapped: 'Mine', args: [], retry: 0, queue: 'q' }, about)
  expect(called).toMatchObject({ retry: 0, queue: 'q' })
  expect(payload({ class: 'Wrapper', wrapped: 'Ruby', args: [] }, about)).toMatchObject({ queue: 'w', retry: 1 })
})

test("options get Sidekiq's names, and other members stay unchanged", () => {
  const about = context({ J: { retryFor: 60 } })
  expect(payload({ class: 'J', args: [] }, about)).toMatchObject({ retry_for: 60 })
  expect(payload({ class: 'J', args: [], retryFor: 90.7 }, about)).toMatchObject({ retry_for: 90 })
  const said = payload({ class: 'J', args: [], retry_for: 30, foo: { bar: 1 }, bid: 'b', retry_queue: 'r' }, about)
  expect(said).toMatchObject({ retry_for: 30, foo: { bar: 1 }, bid: 'b', retry_queue: 'r' })
  expect(said).not.toHaveProperty('retryFor')
})

test('options for Highkiq alone are not in the payload, and undefined counts as missing', () => {
  const missing = { waitUntil: undefined, queue: undefined, x: undefined }
  const given = payload({ class: 'J', args: [], wait: 5, idempotent: true, ...missing })
  expect(Object.keys(given)).toEqual(['class', 'args', 'queue', 'jid', 'retry', 'created_at', 'at'])
})

test('a given jid and created_at are kept; a member may have any name', () => {
  const text = '{"class":"J","args":[],"jid":"mine","created_at":5,"__proto__":{"a":1},"toString":2}'
  const given = payload(JSON.parse(text))
  expect(given).toMatchObject({ jid: 'mine', created_at: 5 })
  expect(JSON.stringify(given)).toContain('"__proto__":{"a":1},"toString":2')
})

test.each([
  [{ at: NOW / 1000 + 5 }, 5],
  [{ wait: 5 }, 5],
  [{ wait: '5m' }, 300],
  [{ wait: { minutes: 2 } }, 120],
  [{ wait: 1_700_000_009 }, 9],
  [{ waitUntil: new Date(NOW + 1500) }, 1.5],
  [{ waitUntil: 1_700_000_007 }, 7],
  [{ wait: 5, waitUntil: new Date(NOW + 9000) }, 9],
  [{ at: NOW / 1000 + 1, wait: 5, waitUntil: new Date(NOW + 9000) }, 1],
  [{ at: NOW / 1000 }, undefined],
  [{ at: 5 }, undefined],
  [{ at: -1 }, undefined],
  [{ wait: 0 }, undefined],
  [{ wait: -5 }, undefined],
  [{ waitUntil: new Date(0) }, undefined],
])('%o is %o seconds from now', (time, seconds) => {
  const { at } = payload({ class: 'J', args: [], ...time })
  expect(at).toEqual(seconds === undefined ? undefined : NOW / 1000 + seconds)
})

test.each<[string, unknown, RegExp]>([
  ['nothing', undefined, /a push is an object, for instance \{ class/],
  ['null', null, /a push is an object/],
  ['a text', 'HardJob', /a push is an object.*not HardJob/],
  ['no class', { args: [] }, /a job needs a class/],
  ['an empty class', { class: '', args: [] }, /a job needs a class/],
  ['a class that is not a text', { class: class {}, args: [] }, /a job needs a class/],
  ['no args', { class: 'J' }, /J: args must be an array/],
  ['args that are a text', { class: 'J', args: 'x' }, /J: args must be an array/],
  ['args that are an object', { class: 'J', args: { 0: 1 } }, /J: args must be an array/],
  ['an at that is a text', { class: 'J', args: [], at: '12' }, /J: at must be a number.*getTime/],
  ['an at that is a Date', { class: 'J', args: [], at: new Date() }, /J: at must be a number/],
  ['an at of null', { class: 'J', args: [], at: null }, /J: at must be a number/],
  ['an at of NaN', { class: 'J', args: [], at: Number.NaN }, /J: at must be a number/],
  ['a jid that is a number', { class: 'J', args: [], jid: 5 }, /J: jid must be a string/],
  ['an empty jid', { class: 'J', args: [], jid: '' }, /J: jid must be a string/],
  ['a long jid', { class: 'J', args: [], jid: 'x'.repeat(201) }, /J: jid must have at most 200 characters.*with 201/],
  [
    'a jid like a placeholder',
    { class: 'J', args: [], jid: '0123456789abcdeffc000005' },
    /J: jid 0123456789abcdeffc000005 has the form.*take another/,
  ],
  ['a long class', { class: 'x'.repeat(1001), args: [] }, /a class must have at most 1,000 characters.*with 1001/],
  ['a long wrapped', { class: 'J', args: [], wrapped: 'x'.repeat(1001) }, /J: wrapped must have at most 1,000/],
  ['tags that are a text', { class: 'J', args: [], tags: 'vip' }, /J: tags must be an array/],
  ['tags that are an object', { class: 'J', args: [], tags: {} }, /J: tags must be an array/],
  ['a retry that is a text', { class: 'J', args: [], retry: '5' }, /J: retry must be true, false or a number/],
  ['a retry below 0', { class: 'J', args: [], retry: -1 }, /J: retry must be/],
  ['a retry_for of more than 1e9', { class: 'J', args: [], retry_for: 1_000_000_001 }, /retry_for.*1,000,000,000/],
  ['a retry_for that is a text', { class: 'J', args: [], retry_for: '5' }, /J: retry_for must be a number/],
  ['a retryFor of NaN', { class: 'J', args: [], retryFor: Number.NaN }, /J: retry_for must be a number/],
  ['an expires_in of 0', { class: 'J', args: [], expires_in: 0 }, /J: expires_in must be a number.*\(got 0\)/],
  ['an expires_in that is a text', { class: 'J', args: [], expires_in: '5' }, /expires_in must be.*\(got "5"\)/],
  ['an expiresIn that is a text', { class: 'J', args: [], expiresIn: '5' }, /J: expiresIn must be.*\(got "5"\)/],
  ['an endless expiresIn', { class: 'J', args: [], expiresIn: Infinity }, /expiresIn must be.*at most 365,000 days/],
  ['an expires_in of NaN', { class: 'J', args: [], expires_in: Number.NaN }, /J: expires_in must be a number/],
  ['an object as expires_in', { class: 'J', args: [], expires_in: { toString: 1 } }, /J: expires_in must be a number/],
  ['a wrapped that is not a text', { class: 'J', args: [], wrapped: 5 }, /J: wrapped must be the name/],
  ['a member named by a symbol', { class: 'J', args: [], [Symbol('s')]: 1 }, /J: Symbol\(s\) can't be stored/],
])('%s is refused with what to do', (_, request, words) => {
  expect(() => payload(request as object)).toThrow(
    expect.objectContaining({ code: 'INVALID_JOB', message: expect.stringMatching(words) }),
  )
})

test.each<[option: object, words: string]>([
  ...[null, '', 'a b', '{q}', 5].map((queue): [object, string] => [{ queue }, 'is not a queue name']),
  [{ wait: 'soon' }, 'is not a time'],
  [{ wait: null }, 'is not a time'],
  [{ waitUntil: new Date(Number.NaN) }, 'is not a time'],
  [{ wait: { minuts: 1 } }, 'is not a time'],
  [{ at: NOW }, 'divide it by 1000'],
  [{ wait: NOW }, 'divide it by 1000'],
  [{ waitUntil: NOW }, 'divide it by 1000'],
])('%o is refused: %s', (option, words) => {
  expect(() => payload({ class: 'J', args: [], ...option })).toThrow(
    expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining(words) }),
  )
})

test('a jid of 200 characters and a class of 1,000 are taken', () => {
  const long = { class: 'x'.repeat(1000), jid: 'x'.repeat(200) }
  expect(payload({ ...long, args: [] })).toMatchObject(long)
})

test('building a payload does not change the request', () => {
  const request = Object.freeze({ class: 'J', args: [], at: NOW / 1000 + 5, tags: ['x'] })
  expect(() => payload(request)).not.toThrow()
})

test('a member that is not JSON is refused like an argument, unless arguments are not checked', () => {
  const when = { class: 'J', args: [], note: { fn() {} } }
  const strict = (request: object) => payload(request, { ...context(), strictArgs: 'raise' })
  expect(() => strict(when)).toThrow(/^J: note.fn is a function: /)
  expect(() => strict({ class: 'J', args: [], tags: [() => {}] })).toThrow(/^J: tags\[0\] is a function: /)
  const invalid = expect.objectContaining({ code: 'INVALID_ARGS' })
  expect(() => strict({ class: 'J', args: [], by: () => {} })).toThrow(invalid)
  expect(strict({ class: 'J', args: [], note: { n: 1n }, retry: null })).toMatchObject({ note: { n: 1n }, retry: null })
  expect(payload(when)).toHaveProperty('note')
})
