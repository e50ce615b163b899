import { expect, test } from 'vitest'
import {
  attemptEnded,
  completeRow,
  editPayload,
  newJid,
  newTaskId,
  type Payload,
  readPayload,
  splitTaskJid,
  taskJid,
  writePayload,
} from './payload.ts'

const job = (more: Partial<Payload> = {}): Payload => ({ class: 'J', args: [], queue: 'q', jid: 'j', ...more })

test('jids are 24 hex digits, ids of tasks 16, and none comes twice', () => {
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

test('a row is its task’s template with its own arguments, or a payload of its own', () => {
  const row = { template: '{"class":"J","queue":"q"}', task: 'a'.repeat(16), index: 1, run: 2, now: 3 }
  const rest = `"jid":"${'a'.repeat(16)}00000001","hk_run":2,"enqueued_at":3}`
  expect(completeRow({ ...row, args: '[1.0]' })).toBe(`{"class":"J","queue":"q","args":[1.0],${rest}`)
  expect(completeRow({ ...row, args: '{"class":"K","args":[]}' })).toBe(`{"class":"K","args":[],${rest}`)
})

test.each(['', 'x', '{', 'null', '5', '"text"', '[]', '{}', '{"class":"J"}', '{"args":[]}', '{"class":5,"args":[]}'])(
  '%o is no job',
  (text) => {
    expect(readPayload(text)).toBeUndefined()
  },
)

test('a job is what has a class and arguments; big integers come as BigInt and go as integers', () => {
  const text = '{"class":"J","args":[9007199254740993],"queue":"q","jid":"j","custom":{"a":1}}'
  const payload = readPayload(text) as Payload
  expect(payload.args).toEqual([9007199254740993n])
  expect(payload.custom).toEqual({ a: 1 })
  expect(writePayload(payload)).toBe(text)
})

test('an edit changes what it names and no other byte; undefined removes', () => {
  const text = '{ "class":"J", "args":[1.0,1e2],"at":5,"9":"\\u00e9","1":[] }'
  expect(editPayload(text, { at: undefined, queue: 'new', class: 'K' })).toBe(
    '{ "class":"K", "args":[1.0,1e2],"9":"\\u00e9","1":[],"queue":"new" }',
  )
  expect(editPayload(text, {})).toBe(text)
})

test('an attempt that ended is counted in a task’s row alone; a stall counts up, any other end forgets the stalls', () => {
  expect(attemptEnded(job())).toEqual({})
  expect(attemptEnded(job({ hk_task: 't' }))).toEqual({ hk_attempt: 1 })
  expect(attemptEnded(job({ hk_task: 't', hk_attempt: 4 }))).toEqual({ hk_attempt: 5 })
  expect(attemptEnded(job(), true)).toEqual({ hk_stalls: 1 })
  expect(attemptEnded(job({ hk_stalls: 1 }), true)).toEqual({ hk_stalls: 2 })
  const forgotten = attemptEnded(job({ hk_stalls: 2 }))
  expect(Object.hasOwn(forgotten, 'hk_stalls')).toBe(true)
  expect(forgotten.hk_stalls).toBeUndefined()
})
