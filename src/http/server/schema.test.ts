import { expect, test } from 'vitest'
import { ForLater, JobFilter, Selected } from '../schemas/jobs.ts'
import { OrderedIds, OrderedReshard } from '../schemas/ordered.ts'
import { TaskRetry, TaskRetryUndo, TaskSettings } from '../schemas/tasks.ts'
import { checked, refuseUnknown } from './schema.ts'

test.each([
  [TaskRetry, { status: 'failed' }, '`status` must be a list of failed, error, cancelled (got "failed")'],
  [TaskRetry, { status: ['done'] }, '`status` must be a list of failed, error, cancelled (got "done" in status.0)'],
  [TaskRetry, { code: 5 }, '`code` must be a string, or null for rows without a code (got 5)'],
  [TaskRetry, { rows: [], code: null }, "`rows` can't be combined with `status`, `code` or `otherCodes`"],
  [
    TaskRetry,
    { rows: [{ index: 0 }, { index: -1 }] },
    '`rows` must be a list of { index, args: […] }, or { index } to keep the arguments (got -1 in rows.1.index)',
  ],
  [TaskRetry, { colour: 1 }, 'it has no member "colour" (known: status, code, otherCodes, rows)'],
  [TaskRetryUndo, {}, '`undo` must be the token from the answer to the retry (got undefined)'],
  [Selected, { jobs: [{ jid: 'a' }, { jid: 'b', kye: 'c' }] }, 'jobs.1 has no member "kye" (known: jid, key)'],
  [
    Selected,
    { jobs: Array(1001).fill({ jid: 'a' }) },
    '`jobs` must be a list of at most 1000 { jid, key } from the entries of a list (use …/all/… for more) (got a list)',
  ],
  [ForLater, {}, 'give either `at`, or `in` (seconds from now)'],
  [ForLater, { in: -1 }, '`in` must be a number of seconds (got -1)'],
  [JobFilter, { class: '' }, '`class` must be a non-empty string: leave it out to select all (got "")'],
  [OrderedIds, { all: true, ids: [1] }, 'give `ids`, a list of ids, or `all: true`'],
  [OrderedReshard, { shards: 1.5 }, '`shards` must be a whole number above 0 (got 1.5)'],
])('a body that breaks its schema is refused with the name of the member %#', (schema, body, message) => {
  expect(() => checked(schema, body, 'it')).toThrow(expect.objectContaining({ code: 'INVALID_REQUEST', message }))
})

test('a body that has its schema is returned', () => {
  const body = { rows: [{ index: 0, args: [1] }, { index: 7 }] }
  expect(checked(TaskRetry, body)).toEqual(body)
  expect(checked(OrderedIds, { ids: [7, 'a'] })).toEqual({ ids: [7, 'a'] })
  expect(() => refuseUnknown(TaskSettings, { window: 'wide' }, 'a task')).not.toThrow()
  expect(() => refuseUnknown(TaskSettings, { widnow: 5 }, 'a task')).toThrow(
    /^a task has no member "widnow" \(known: name, window,/,
  )
})
