import { expect, test } from 'vitest'
import { editMembers, elementTexts } from './json.ts'
import { type Payload, readPayload, taskJid } from './payload.ts'
import { completeRows, jidsOf, resultOfRow, someRows, splitRows } from './rows.ts'

const task = '0123456789abcdef'
const text = completeRows({
  template: '{"class":"Rows","queue":"q","hk_task":"0123456789abcdef","hk_list":true}',
  rows: [
    { index: 4, args: '[{"n":1.0}]' },
    { index: 5, args: '[12345678901234567890]' },
    { index: 9, args: '[["a","b"]]' },
  ],
  task,
  run: 2,
  now: 5,
})
const payload = readPayload(text) as Payload

test('one job has several rows of a task as a list, with their indexes', () => {
  expect(text).toContain('"args":[[{"n":1.0},12345678901234567890,["a","b"]]],"hk_rows":[4,5,9],"jid":')
  expect(jidsOf(payload)).toEqual([4, 5, 9].map((index) => taskJid(task, index)))
  expect(payload.jid).toBe(taskJid(task, 4))
  expect(jidsOf({ ...payload, hk_rows: undefined })).toEqual([payload.jid])
})

test('each row of such a job becomes a job with its own list, otherwise unchanged', () => {
  const alone = splitRows(text, payload) ?? []
  expect(alone.map((row) => readPayload(row.text))).toEqual(alone.map((row) => row.payload))
  expect(alone[0]?.text).toContain('"args":[[{"n":1.0}]]')
  expect(alone[1]?.text).toContain('"args":[[12345678901234567890]]')
  expect(alone[2]?.payload).toEqual({
    class: 'Rows',
    queue: 'q',
    hk_task: task,
    hk_list: true,
    hk_run: 2,
    enqueued_at: 5,
    args: [[['a', 'b']]],
    jid: taskJid(task, 9),
  })
  expect(splitRows(alone[0]?.text as string, alone[0]?.payload as Payload)).toBeUndefined()
  // Middleware has made something else of its arguments.
  expect(splitRows(text, { ...payload, args: ['encrypted'] })).toBeUndefined()
})

test('some rows of such a job form one job, too', () => {
  expect(readPayload(someRows(text, payload, [1, 2]))).toEqual({
    ...payload,
    jid: taskJid(task, 5),
    hk_rows: [5, 9],
    args: [[12345678901234567890n, ['a', 'b']]],
  })
  expect(readPayload(someRows(text, payload, [2]))).toEqual(splitRows(text, payload)?.[2]?.payload)
})

test('each row gets its own result from a list', () => {
  expect([0, 1, 2].map((row) => resultOfRow(payload, ['x', 'y', 'z'], row))).toEqual(['x', 'y', 'z'])
  for (const other of [['x'], 'xyz', undefined]) expect(resultOfRow(payload, other, 0)).toBeUndefined()
  expect(resultOfRow({ ...payload, hk_list: undefined }, ['x'], 0)).toEqual(['x'])
})

test.each(['[]', '[4,4]', '[5,4]', '[4,-1]', '[4,1.5]', '[4,4294967296]', '["4"]', '4', '{}', 'null'])(
  'indexes %s are no job of ours',
  (rows) => {
    expect(readPayload(editMembers(text, { hk_rows: rows }))).toBeUndefined()
    expect(readPayload(editMembers(text, { hk_task: undefined }))).toBeUndefined()
  },
)

test('the elements of an array are returned unchanged', () => {
  expect(elementTexts(' [ 1.0 ,{"a":[1,2]},"x,]\\"" , [] ] ')).toEqual(['1.0', '{"a":[1,2]}', '"x,]\\""', '[]'])
  expect(elementTexts('[]')).toEqual([])
  for (const wrong of ['', '{}', '[1', '[1,]', '[1] 2', '[,1]'])
    expect(() => elementTexts(wrong), wrong).toThrow(SyntaxError)
})
