import { expect, test } from 'vitest'
import type { Effect, EventEffect, SettleAndFetchAnswer, SettleAnswer, Settlement } from '../../store/contract.ts'
import type { Engine } from '../engine.ts'
import { endedJobs, SettlementBuffer } from './settlement-buffer.ts'

function begin() {
  const codes: unknown[] = []
  const report = (error: unknown) => codes.push((error as { code?: unknown }).code)
  return { codes, report: new SettlementBuffer({ report, now: () => 5000 } as unknown as Engine) }
}

const done = (ticket: string, move: Settlement['move'] = null): Settlement => ({
  queue: 'default',
  ticket,
  move,
  processed: 1,
  failed: 0,
})
const retry: Settlement['move'] = { to: 'retry', text: '{}', score: 1 }

function answer(...settled: SettleAnswer[]): SettleAndFetchAnswer {
  return { fenced: false, started: [], settled, fetched: [], cancellations: 0 }
}

test('a job is gone when its own end was applied, whatever became of the others of that call', () => {
  const { report, codes } = begin()
  for (const ticket of ['a', 'b', 'c']) report.add(done(ticket), [ticket])
  report.add(done('d', retry), ['d'])
  const first = report.drain()
  const mixed = answer('ok', 'error', 'fenced', 'ok')
  expect(report.applyAnswer(first, mixed)).toBe(false)
  expect(endedJobs(first, mixed)).toEqual(['a'])
  expect(codes).toEqual(['LEASE_LOST'])
  // The one that is told again is not forgotten.
  const second = report.drain()
  expect(report.applyAnswer(second, answer('ok'))).toBe(true)
  expect(endedJobs(second, answer('ok'))).toEqual(['b'])
  expect(report.isEmpty).toBe(true)
})

test('what was not told is told with the next call, before what has ended since', () => {
  const { report } = begin()
  report.add(done('a'), ['a'])
  const failed = report.drain()
  report.add(done('b'), ['b'])
  report.restore(failed)
  expect(report.drain().ends.map(({ jids }) => jids)).toEqual([['a'], ['b']])
})

const changed: EventEffect = { kind: 'event', jid: 'j', run: 1, attempt: 1, at: 7, status: 'finished', window: 'leave' }
const messages = [{ at: 7, code: 'said', params: { text: 'x' } }]

test('an end that the store refuses five times keeps what matters, and after five times more its job goes at least', () => {
  const { report, codes } = begin()
  const unlock: Effect = { kind: 'release-lock', lock: 'l', holder: 'j' }
  const again: EventEffect = { ...changed, jid: 'k', status: 'enqueued', window: 'enter', messages }
  report.add({
    ...done('a'),
    effects: [
      { ...changed, result: '1', messages },
      { ...changed, jid: 'f', status: 'failed', code: 'odd', messages },
      unlock,
    ],
    also: [{ to: { to: 'queue', queue: 'default', text: '{"n":1}', end: 'front' }, effects: [again] }],
  })
  const untilRefused = (times: number) => {
    for (let n = 1; n <= times; n++) report.applyAnswer(report.drain(), answer('error'))
    const { ends } = report.drain()
    report.restore({ started: [], ends })
    return ends[0]?.settlement
  }
  expect(untilRefused(4)?.also?.[0]?.to.to).toBe('queue')
  const to = { to: 'dead', text: '{"n":1}', score: 5 }
  const dead = { ...changed, jid: 'k', status: 'error', code: 'STORE_UNUSABLE' }
  const failed = { ...changed, jid: 'f', status: 'failed', code: 'odd' }
  expect(untilRefused(1)).toEqual({ ...done('a'), effects: [changed, failed, unlock], also: [{ to, effects: [dead] }] })
  expect(codes).toEqual(['STORE_UNUSABLE'])
  expect(untilRefused(5)).toEqual({ ...done('a'), also: [{ to }] })
  // It stays what it is, and nobody hears of it any more.
  expect(untilRefused(20)).toEqual({ ...done('a'), also: [{ to }] })
  expect(codes).toEqual(['STORE_UNUSABLE', 'STORE_UNUSABLE'])
})

test('a retry that the store refuses five times is dead, and its row an error', () => {
  const { report } = begin()
  report.add({ ...done('a', retry), effects: [{ ...changed, status: 'enqueued', messages }] }, ['a'])
  for (let n = 1; n <= 5; n++) report.applyAnswer(report.drain(), answer('error'))
  const [end] = report.drain().ends
  const effects = [{ ...changed, status: 'error', code: 'STORE_UNUSABLE' }]
  expect(end?.settlement).toEqual({ ...done('a', { to: 'dead', text: '{}', score: 5 }), effects })
})

test('a start that is not told any more is told with no call', () => {
  const { report } = begin()
  report.addStart([{ queue: 'default', ticket: 'a', effects: [] }], () => {})
  expect(report.withdrawStart('a')).toBe(true)
  expect(report.withdrawStart('a')).toBe(false)
  expect(report.isEmpty).toBe(true)
})
