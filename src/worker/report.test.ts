import { expect, test } from 'vitest'
import type { SettleAnswer, Settlement, TurnAnswer } from '../store/contract.ts'
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

function answer(...settled: SettleAnswer[]): TurnAnswer {
  return { fenced: false, started: [], settled, taken: [], marks: 0 }
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

test('an end that the store refuses five times is reduced to what matters', () => {
  const { report, codes } = begin()
  report.ended({ ...done('a', retry), effects: [] }, ['a'])
  for (let n = 1; n <= 5; n++) report.hear(report.draw(), answer('error'))
  const [end] = report.draw().ends
  expect(end?.settlement).toEqual(done('a', { to: 'dead', text: '{}', score: 5 }))
  expect(codes).toEqual(['STORE_UNUSABLE'])
})

test('a start that is not told any more is told with no call', () => {
  const { report } = begin()
  report.began([{ queue: 'default', ticket: 'a', effects: [] }], { waits: false, hear() {} })
  expect(report.withdraw('a')).toBe(true)
  expect(report.withdraw('a')).toBe(false)
  expect(report.isEmpty).toBe(true)
})
