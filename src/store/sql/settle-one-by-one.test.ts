import { expect, test } from 'vitest'
import { HighkiqError } from '../../job/errors.ts'
import type { SettleAndFetch, SettleAndFetchAnswer, SettleAnswer, Settlement } from '../contract.ts'
import { settleOneByOne } from './settle-one-by-one.ts'

const unusable = new HighkiqError('STORE_UNUSABLE', 'the store is broken')

/** Runs a step of settlements and then of a fetch, whose parts end in these ways. */
function settle(...ways: ('ok' | 'lost' | Error)[]) {
  const settlements = ways
    .slice(1)
    .map((_, i): Settlement => ({ queue: 'q', ticket: String(i), move: null, processed: 1, failed: 0 }))
  const step: SettleAndFetch = { now: 0, started: [], settlements, fetch: { queues: ['q'], n: 1 } }
  const left = [...ways]
  return settleOneByOne(step, async ({ settlements, fetch }): Promise<SettleAndFetchAnswer> => {
    const way = left.shift() as (typeof ways)[number]
    if (way instanceof Error) throw way
    const settled = settlements.map((): SettleAnswer => (way === 'lost' ? 'fenced' : 'ok'))
    const fetched = way === 'ok' && fetch.n > 0 ? [{ queue: 'q', ticket: '9', text: '{}' }] : []
    return { fenced: way === 'lost', started: [], settled, fetched, cancellations: 7 }
  })
}

test('an item that the store refuses does not keep the others from being settled', async () => {
  const answer = { fenced: false, fetched: [{ ticket: '9' }], cancellations: 7, problem: 'odd' }
  expect(await settle('ok', new Error('odd'), 'ok', 'ok')).toMatchObject({ ...answer, settled: ['ok', 'error', 'ok'] })
})

test('once a settlement is stored, a store that fails leaves the others to the next call', async () => {
  const answer = { fenced: false, fetched: [], problem: 'the store is broken' }
  expect(await settle('ok', unusable, 'ok', 'ok')).toMatchObject({ ...answer, settled: ['ok', 'unknown', 'unknown'] })
  const mixed = ['ok', 'error', 'unknown', 'unknown']
  expect(await settle('ok', new Error('odd'), unusable, 'ok', 'ok')).toMatchObject({ settled: mixed })
  expect(await settle('ok', 'ok', unusable)).toMatchObject({ ...answer, settled: ['ok', 'ok'] })
  expect(await settle('ok', 'ok', new Error('odd'))).toMatchObject({ ...answer, settled: ['ok', 'ok'], problem: 'odd' })
})

test('a store that fails before a settlement is stored makes the call fail', async () => {
  await expect(settle(new Error('odd'), unusable, 'ok')).rejects.toBe(unusable)
})

test('a lease that is lost between two items fences only those behind it', async () => {
  expect(await settle('ok', 'lost', 'lost')).toMatchObject({ fenced: false, settled: ['ok', 'fenced'], fetched: [] })
  expect(await settle('lost', 'lost', 'lost')).toMatchObject({ fenced: true, settled: ['fenced', 'fenced'] })
})
