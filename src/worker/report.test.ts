import { expect, test } from 'vitest'
import type { Effect, EventEffect, SettleAndFetchAnswer, SettleAnswer, Settlement } from '../store/contract.ts'
import type { Engine } from './engine.ts'
import { goneBy, Report } from './report.ts'

function begin() {
  const codes: unknown[] = []
  const report = (error: unknown) => codes.push((error as { code?: unknown }).code)
  return { codes, report: new Report({ report, now: () => 5000 } as unknown as Engine) }
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
  for (const ticket of ['a', 'b', 'c']) report.ended(done(ticket), [ticket])
  report.ended(done('d', retry), ['d'])
  const first = report.draw()
  const mixed = answer('ok', 'error', 'fenced', 'ok')
  expect(report.hear(first, mixed)).toBe(false)
  expect(goneBy(first, mixed)).toEqual(['a'])
  expect(codes).toEqual(['LEASE_LOST'])
  // The one that is told again is not forgotten.
  const second = report.draw()
  expect(report.hear(second, answer('ok'))).toBe(true)
  expect(goneBy(second, answer('ok'))).toEqual(['b'])
  expect(report.isEmpty).toBe(true)
})

test('what was not told is told with the next call, before what has ended since', () => {
  const { report } = begin()
  report.ended(done('a'), ['a'])
  const failed = report.draw()
  report.ended(done('b'), ['b'])
  report.giveBack(failed)
  expect(report.draw().ends.map(({ jids }) => jids)).toEqual([['a'], ['b']])
})

const changed: EventEffect = { kind: 'event', jid: 'j', run: 1, attempt: 1, at: 7, status: 'finished', window: 'leave' }
const messages = [{ at: 7, code: 'said', params: { text: 'x' } }]

test('an end that the store refuses five times keeps what matters, and after five times more its job goes at least', () => {
  const { report, codes } = begin()
  const unlock: Effect = { kind: 'unlock', lock: 'l', holder: 'j' }
  const again: EventEffect = { ...changed, jid: 'k', status: 'enqueued', window: 'enter', messages }
  report.ended({
    ...done('a'),
    effects: [
      { ...changed, result: '1', messages },
      { ...changed, jid: 'f', status: 'failed', code: 'odd', messages },
      unlock,
    ],
    also: [{ to: { to: 'queue', queue: 'default', text: '{"n":1}', end: 'front' }, effects: [again] }],
  })
  const untilRefused = (times: number) => {
    for (let n = 1; n <= times; n++) report.hear(report.draw(), answer('error'))
    const { ends } = report.draw()
    report.giveBack({ started: [], ends })
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
  report.ended({ ...done('a', retry), effects: [{ ...changed, status: 'enqueued', messages }] }, ['a'])
  for (let n = 1; n <= 5; n++) report.hear(report.draw(), answer('error'))
  const [end] = report.draw().ends
  const effects = [{ ...changed, status: 'error', code: 'STORE_UNUSABLE' }]
  expect(end?.settlement).toEqual({ ...done('a', { to: 'dead', text: '{}', score: 5 }), effects })
})

test('a start that is not told any more is told with no call', () => {
  const { report } = begin()
  report.began([{ queue: 'default', ticket: 'a', effects: [] }], () => {})
  expect(report.withdraw('a')).toBe(true)
  expect(report.withdraw('a')).toBe(false)
  expect(report.isEmpty).toBe(true)
})
