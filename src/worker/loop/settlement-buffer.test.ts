import { expect, test } from 'vitest'
import type { HighkiqError } from '../../job/errors.ts'
import type { Effect, EventEffect, SettleAndFetchAnswer, SettleAnswer, Settlement } from '../../store/contract.ts'
import type { Engine } from '../engine.ts'
import { endedJobs, SettlementBuffer } from './settlement-buffer.ts'

function begin() {
  const codes: unknown[] = []
  const messages: string[] = []
  const abouts: unknown[] = []
  const report = (error: HighkiqError, about: unknown) => {
    abouts.push(about)
    codes.push(error.code)
    messages.push(error.message)
  }
  return { codes, messages, abouts, buffer: new SettlementBuffer({ report, now: () => 5000 } as unknown as Engine) }
}

function done(ticket: string, move: Settlement['move'] = null): Settlement {
  return { queue: 'default', ticket, move, processed: 1, failed: 0 }
}

const retry: Settlement['move'] = { to: 'retry', text: '{}', score: 1 }

function answer(...settled: SettleAnswer[]): SettleAndFetchAnswer {
  return { fenced: false, started: [], settled, fetched: [], cancellations: 0 }
}

test('a job has ended once its own settlement is applied, whatever happens to the others of that call', () => {
  const { buffer, codes, abouts } = begin()
  for (const ticket of ['a', 'b', 'c']) buffer.add(done(ticket), [ticket])
  buffer.add(done('d', retry), ['d'])
  const first = buffer.drain()
  const mixed = answer('ok', 'error', 'fenced', 'ok')
  expect(buffer.applyAnswer(first, mixed)).toBe(false)
  expect(endedJobs(first, mixed)).toEqual(['a'])
  expect(codes).toEqual(['LEASE_LOST'])
  expect(abouts).toEqual([{ jid: 'c', ticket: 'c' }])
  // The refused settlement is sent again.
  const second = buffer.drain()
  expect(buffer.applyAnswer(second, answer('ok'))).toBe(true)
  expect(endedJobs(second, answer('ok'))).toEqual(['b'])
  expect(buffer.isEmpty).toBe(true)
})

test('settlements that were not sent go with the next call, before newer ones', () => {
  const { buffer } = begin()
  buffer.add(done('a'), ['a'])
  const failed = buffer.drain()
  buffer.add(done('b'), ['b'])
  buffer.restore(failed)
  expect(buffer.drain().ended.map(({ jids }) => jids)).toEqual([['a'], ['b']])
})

const changed: EventEffect = { kind: 'event', jid: 'j', run: 1, attempt: 1, at: 7, status: 'finished', window: 'leave' }
const messages = [{ at: 7, code: 'said', params: { text: 'x' } }]

test('a settlement loses its messages after five refusals and its effects after ten', () => {
  const { buffer, codes } = begin()
  const unlock: Effect = { kind: 'release-lock', lock: 'l', holder: 'j' }
  const again: EventEffect = { ...changed, jid: 'k', status: 'enqueued', window: 'enter', messages }
  const failed: EventEffect = { ...changed, jid: 'f', status: 'failed', code: 'odd' }
  buffer.add({
    ...done('a'),
    effects: [{ ...changed, result: '1', messages }, { ...failed, messages }, unlock],
    also: [{ to: { to: 'queue', queue: 'default', text: '{"n":1}', end: 'front' }, effects: [again] }],
  })
  const untilRefused = (times: number) => {
    for (let n = 1; n <= times; n++) buffer.applyAnswer(buffer.drain(), answer('error'))
    const { ended } = buffer.drain()
    buffer.restore({ started: new Map(), ended, records: [] })
    return ended[0]?.settlement
  }
  expect(untilRefused(4)?.also?.[0]?.to.to).toBe('queue')
  const to = { to: 'dead', text: '{"n":1}', score: 5 }
  const dead = { ...changed, jid: 'k', status: 'error', code: 'STORE_UNUSABLE' }
  expect(untilRefused(1)).toEqual({ ...done('a'), effects: [changed, failed, unlock], also: [{ to, effects: [dead] }] })
  expect(codes).toEqual(['STORE_UNUSABLE'])
  expect(untilRefused(5)).toEqual({ ...done('a'), also: [{ to }] })
  // Further refusals change nothing and are not reported.
  expect(untilRefused(20)).toEqual({ ...done('a'), also: [{ to }] })
  expect(codes).toEqual(['STORE_UNUSABLE', 'STORE_UNUSABLE'])
})

test('a settlement with the answer `unknown` is sent again unchanged, however often', () => {
  const { buffer, codes } = begin()
  const settlement = { ...done('a', retry), effects: [{ ...changed, messages }] }
  buffer.add(settlement, ['a'])
  for (let n = 1; n <= 20; n++) expect(buffer.applyAnswer(buffer.drain(), answer('unknown'))).toBe(false)
  expect(buffer.drain().ended[0]).toMatchObject({ settlement, jids: ['a'] })
  expect(codes).toEqual([])
})

test('starts and settlements with the answer `unreachable` are sent again later, and the call has not failed', () => {
  const { buffer, codes } = begin()
  const starts: (readonly boolean[])[] = []
  buffer.addStart([{ queue: 'default', ticket: 'a', effects: [] }], (are) => void starts.push(are))
  buffer.add(done('b'), ['b'])
  buffer.add(done('c'), ['c'])
  const sent = buffer.drain()
  expect(buffer.applyAnswer(sent, { ...answer('unreachable', 'ok'), started: ['unreachable'] })).toBe(true)
  expect([buffer.isEmpty, buffer.hasPostponed, starts.length]).toEqual([true, true, 0])
  buffer.add(done('d'), ['d'])
  buffer.resume()
  const again = buffer.drain()
  expect([...again.started.keys()]).toEqual(['a'])
  expect(again.ended.map(({ jids }) => jids)).toEqual([['b'], ['d']])
  buffer.applyAnswer(again, { ...answer('ok', 'ok'), started: ['ok'] })
  expect([buffer.isEmpty, buffer.hasPostponed]).toEqual([true, false])
  expect([starts, codes]).toEqual([[[false]], []])
})

test('a settlement with the answer `unreachable` is reported as lost when the lease is lost', () => {
  const { buffer, abouts } = begin()
  buffer.add(done('a'), ['a'])
  buffer.applyAnswer(buffer.drain(), answer('unreachable'))
  buffer.clear()
  expect(abouts).toEqual([{ jid: 'a', ticket: 'a' }])
  expect([buffer.isEmpty, buffer.hasPostponed]).toEqual([true, false])
})

test('a retry that the store refuses five times goes to the dead set, and its row is an error', () => {
  const { buffer } = begin()
  buffer.add({ ...done('a', retry), effects: [{ ...changed, status: 'enqueued', messages }] }, ['a'])
  for (let n = 1; n <= 5; n++) buffer.applyAnswer(buffer.drain(), answer('error'))
  const [end] = buffer.drain().ended
  const effects = [{ ...changed, status: 'error', code: 'STORE_UNUSABLE' }]
  expect(end?.settlement).toEqual({ ...done('a', { to: 'dead', text: '{}', score: 5 }), effects })
})

test('a unique job whose retry the store refuses releases its lock, also when it loses its effects', () => {
  const { buffer } = begin()
  const lock = { key: 'k', holder: 'j' }
  buffer.add({ ...done('a', retry), effects: [{ kind: 'keep-unique', ...lock, acquire: true }, changed] }, ['j'])
  const release: Effect = { kind: 'release-unique', ...lock }
  for (const effects of [[release, changed], [release]]) {
    for (let n = 1; n <= 5; n++) buffer.applyAnswer(buffer.drain(), answer('error'))
    const { ended } = buffer.drain()
    expect(ended[0]?.settlement.effects).toEqual(effects)
    buffer.restore({ started: new Map(), ended, records: [] })
  }
})

test('a job on its way to the dead set keeps the code of its error when the store refuses it five times', () => {
  const { buffer, messages: said, abouts } = begin()
  const dead: Settlement['move'] = { to: 'dead', text: '{}', score: 1 }
  const failed: EventEffect = { ...changed, status: 'error', code: 'TypeError' }
  buffer.add({ ...done('a', dead), effects: [{ ...failed, messages }] }, ['j'])
  for (let n = 1; n <= 5; n++) buffer.applyAnswer(buffer.drain(), answer('error'))
  const [end] = buffer.drain().ended
  expect(end?.settlement).toEqual({ ...done('a', { to: 'dead', text: '{}', score: 5 }), effects: [failed] })
  expect(said).toEqual(['the store refuses to settle a job, without messages and result'])
  expect(abouts).toEqual([{ jid: 'j', ticket: 'a' }])
})

test('a withdrawn start is not sent', () => {
  const { buffer } = begin()
  buffer.addStart([{ queue: 'default', ticket: 'a', effects: [] }], () => {})
  expect(buffer.withdrawStart('a')).toBe(true)
  expect(buffer.withdrawStart('a')).toBe(false)
  expect(buffer.isEmpty).toBe(true)
})
