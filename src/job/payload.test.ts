import { expect, test } from 'vitest'
import {
  attemptEnded,
  completeRow,
  editPayload,
  floatsOf,
  newJid,
  newTaskId,
  type Payload,
  readPayload,
  readTime,
  rowTemplate,
  splitTaskJid,
  taskJid,
  timeOf,
  waitOf,
  writePayload,
} from './payload.ts'

const job = (more: Partial<Payload> = {}): Payload => ({ class: 'J', args: [], queue: 'q', jid: 'j', ...more })

test('jids have 24 hex digits, task ids 16, and none repeats', () => {
  const jids = new Set(Array.from({ length: 1000 }, newJid))
  expect(jids.size).toBe(1000)
  for (const jid of jids) expect(jid).toMatch(/^[0-9a-f]{24}$/)
  expect(newTaskId()).toMatch(/^[0-9a-f]{16}$/)
})

test('the jid of a row names its task and its index', () => {
  const id = newTaskId()
  for (const index of [0, 1, 255, 4_000_000_000]) {
    const jid = taskJid(id, index)
    expect(jid).toHaveLength(24)
    expect(splitTaskJid(jid)).toEqual({ id, index })
  }
})

test('a row is the template of its task with its own arguments, or has its own payload', () => {
  const row = { template: '{"class":"J","queue":"q"}', task: 'a'.repeat(16), index: 1, run: 2, now: 3 }
  const rest = `"jid":"${'a'.repeat(16)}00000001","hk_run":2,"enqueued_at":3}`
  expect(completeRow({ ...row, args: '[1.0]' })).toBe(`{"class":"J","queue":"q","args":[1.0],${rest}`)
  expect(completeRow({ ...row, args: '{"class":"K","args":[]}' })).toBe(`{"class":"K","args":[],${rest}`)
})

const NO_OBJECTS = ['', 'x', '{', 'null', '5', '"text"', '[]']

test.each([...NO_OBJECTS, '{}', '{"class":"J"}', '{"args":[]}', '{"class":5,"args":[]}'])('%o is not a job', (text) => {
  expect(readPayload(text)).toBeUndefined()
})

test('a job needs a class and arguments; big integers are read as BigInt and written as integers', () => {
  const text = '{"class":"J","args":[9007199254740993],"queue":"q","jid":"j","custom":{"a":1}}'
  const payload = readPayload(text) as Payload
  expect(payload.args).toEqual([9007199254740993n])
  expect(payload.custom).toEqual({ a: 1 })
  expect(writePayload(payload)).toBe(text)
})

test('an edit changes the given members and no other byte; undefined removes a member', () => {
  const text = '{ "class":"J", "args":[1.0,1e2],"at":5,"9":"\\u00e9","1":[] }'
  const edited = editPayload(text, { at: undefined, queue: 'new', class: 'K' })
  expect(edited).toBe('{ "class":"K", "args":[1.0,1e2],"9":"\\u00e9","1":[],"queue":"new" }')
  expect(editPayload(text, {})).toBe(text)
})

test('ended attempts are counted for rows of tasks only; a crash adds to hk_crashes, any other end resets it', () => {
  expect(attemptEnded(job())).toEqual({})
  expect(attemptEnded(job({ hk_task: 't' }))).toEqual({ hk_attempt: 1 })
  expect(attemptEnded(job({ hk_task: 't', hk_attempt: 4 }))).toEqual({ hk_attempt: 5 })
  expect(attemptEnded(job(), true)).toEqual({ hk_crashes: 1 })
  expect(attemptEnded(job({ hk_crashes: 1 }), true)).toEqual({ hk_crashes: 2 })
  const forgotten = attemptEnded(job({ hk_crashes: 2 }))
  expect(Object.hasOwn(forgotten, 'hk_crashes')).toBe(true)
  expect(forgotten.hk_crashes).toBeUndefined()
})

test('crashes that version 0.1 counted as hk_stalls count on as hk_crashes', () => {
  const text = '{"class":"J","args":[],"jid":"j","hk_stalls":2,"x":1.0}'
  const payload = readPayload(text) as Payload
  expect(payload.hk_crashes).toBe(2)
  const crashed = editPayload(text, attemptEnded(payload, true))
  expect(crashed).toBe('{"class":"J","args":[],"jid":"j","x":1.0,"hk_crashes":3}')
  expect(editPayload(text, attemptEnded(payload))).toBe('{"class":"J","args":[],"jid":"j","x":1.0}')
  expect(readPayload('{"class":"J","args":[],"jid":"j","hk_stalls":"2"}')).toBeUndefined()
})

test.each([
  ['1723900000123', 1_723_900_000_123],
  ['1723900000.123', 1_723_900_000_123],
  ['1723900000.0', 1_723_900_000_000],
  ['1.7239e+09', 1_723_900_000_000],
  ['1.7239E9', 1_723_900_000_000],
  ['5000', 5000],
  ['5.0', 5000],
  ['null', undefined],
  ['"1723900000.0"', undefined],
  ['[1]', undefined],
])('a time of %s is by its type, not by its size', (token, ms) => {
  expect(readTime(`{"class":"J","failed_at":${token} ,"args":[]}`, 'failed_at')).toBe(ms)
})

test('a job without that time returns none, and an invalid job, too', () => {
  expect(readTime('{"class":"J","args":[{"failed_at":5}]}', 'failed_at')).toBeUndefined()
  expect(readTime('garbage', 'failed_at')).toBeUndefined()
})

test('version 8 writes integer milliseconds; 7 and 6 write seconds as floats, and other numbers unchanged', () => {
  const times = (wire: 6 | 7 | 8, ms: number) => ({ created_at: timeOf(ms, wire), enqueued_at: timeOf(ms, wire), n: 5 })
  const written = (wire: 6 | 7 | 8, ms: number) => writePayload(job(times(wire, ms)), wire)
  expect(written(8, 1_723_900_000_000)).toContain('"created_at":1723900000000,"enqueued_at":1723900000000,"n":5')
  for (const wire of [6, 7] as const) {
    expect(written(wire, 1_723_900_000_000)).toContain('"created_at":1723900000.0,"enqueued_at":1723900000.0,"n":5')
    expect(written(wire, 1_723_900_000_120)).toContain('"created_at":1723900000.12,')
    const edited = editPayload('{"failed_at":1}', { failed_at: 1_723_900_000, retry_count: 0 }, wire)
    expect(edited).toBe('{"failed_at":1723900000.0,"retry_count":0}')
  }
})

test.each([
  [1_723_900_000_000, '1723900000.0'],
  [1_723_900_000_010, '1723900000.01'],
  [1_723_900_000_123, '1723900000.123'],
])('a row of a task in the dialect of version 7 has its time %i as %s', (now, time) => {
  const template = rowTemplate(job({ created_at: 1_723_900_000 }), 7)
  const row = { template, args: '[1]', task: 'a'.repeat(16), index: 0, run: 1, now }
  expect(completeRow(row)).toBe(
    `{"class":"J","args":[],"queue":"q","jid":"j","created_at":1723900000.0,"args":[1],"jid":"${'a'.repeat(16)}00000000","hk_run":1,"enqueued_at":${time}}`,
  )
  expect(completeRow({ ...row, args: '{"class":"K"}' })).toMatch(new RegExp(`^{"class":"K",.*"enqueued_at":${time}}$`))
})

test('a member may have any name', () => {
  const changes = JSON.parse('{"__proto__":[1],"constructor":2,"toString":null}')
  expect(editPayload('{"__proto__":1.0}', changes)).toBe('{"__proto__":[1],"constructor":2,"toString":null}')
  expect(editPayload('{"a":1.0}', JSON.parse('{"__proto__":[1]}'))).toBe('{"a":1.0,"__proto__":[1]}')
})

test.each([
  [8, 'new'],
  [7, 'old'],
  [6, 'old'],
  [{ sidekiq: 7 }, 'old'],
  [{ sidekiq: 7, json: '2.16' }, 'new'],
  [{ sidekiq: 7, json: '2.12.0' }, 'new'],
  [{ sidekiq: 8, json: '2.9.1' }, 'old'],
  [{ sidekiq: 8, json: '3.0' }, 'new'],
] as const)('with wire %j floats are written the %s way', (wire, floats) => {
  const args = floats === 'new' ? '[1e+21,0.00001]' : '[1.0e+21,1.0e-05]'
  expect(floatsOf(wire)).toBe(floats)
  expect(writePayload(job({ args: [1e21, 0.00001] }), wire)).toContain(`"args":${args}`)
  // Members that are not edited keep their bytes.
  const edited = editPayload('{"n":1.50,"m":1.0e-05}', { args: [1e21, 0.00001] }, wire)
  expect(edited).toBe(`{"n":1.50,"m":1.0e-05,"args":${args}}`)
})

const AT = 1_700_000_000_000

test.each<[what: string, enqueued_at: unknown, wait: number | undefined]>([
  ['milliseconds', AT - 250, 250],
  ['seconds, as Sidekiq 7 and 6 write them', (AT - 250) / 1000, 250],
  ['a clock that runs ahead', AT + 5000, 0],
  ['no time', undefined, undefined],
  ['garbage', 'yesterday', undefined],
])('the time that a job waited: %s', (_, at, wait) => {
  const waited = waitOf({ class: 'J', args: [], queue: 'q', jid: 'j', enqueued_at: at as number }, AT)
  if (wait === undefined) expect(waited).toBeUndefined()
  else expect(waited).toBeCloseTo(wait, 0)
})

test('a wrapped class that is not a string is ignored', () => {
  expect(readPayload('{"class":"J","args":[],"wrapped":{"a":1}}')?.wrapped).toBeUndefined()
  expect(readPayload('{"class":"J","args":[],"wrapped":"K"}')?.wrapped).toBe('K')
})
