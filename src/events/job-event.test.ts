import { expect, test } from 'vitest'
import type { RecordEffect } from '../store/contract.ts'
import { recordOf, recordsOf } from './job-event.ts'

const jid = 'a1b2c3d4e5f6a1b2c3d4e5f6'

function parsed({ jid, about }: RecordEffect): unknown {
  return [jid, ...JSON.parse(about)]
}

test('an event has the names of its own job, whatever event was written before', () => {
  const names = [
    { job: 'A', queue: 'default' },
    { job: 'B', queue: 'default' },
    { job: 'B', queue: 'mail' },
    { job: 'B "quoted"\n', queue: 'mail' },
    { job: 'B', queue: 'mail' },
  ]
  const records = names.map(({ job, queue }) => recordOf('started', { jid, class: job }, queue, 5, 1))
  expect(records.map(parsed)).toEqual(names.map(({ job, queue }) => [jid, 'started', job, queue, 5, 1]))
  const wrapped = recordOf('started', { jid, class: 'B', wrapped: 'Inner' }, 'mail', 5, 1)
  expect(parsed(wrapped)).toEqual([jid, 'started', 'Inner', 'mail', 5, 1])
})

test('the end of an attempt has the start of the attempt beside its other details', () => {
  const job = { jid, class: 'A', args: [], queue: 'default' }
  const done = recordsOf({ kind: 'done', result: undefined }, job, 'default', 9, 1, 7)
  expect(done.map(parsed)).toEqual([[jid, 'succeeded', 'A', 'default', 9, 1, { began: 7 }]])
  const error = { class: 'Error', message: 'no' }
  const retried = recordsOf({ kind: 'retry', error: new Error('no'), at: 20, count: 0 }, job, 'default', 9, 1, 7)
  expect(retried.map(parsed)).toEqual([
    [jid, 'failed', 'A', 'default', 9, 1, { began: 7, error }],
    [jid, 'retried', 'A', 'default', 9, 1, { due: 20, reason: 'failed' }],
  ])
  const cancelled = recordsOf({ kind: 'cancelled', begun: false }, job, 'default', 9)
  expect(cancelled.map(parsed)).toEqual([[jid, 'cancelled', 'A', 'default', 9, 0, { reason: 'cancelled' }]])
})
