import pg from 'pg'
import { expect, test, vi } from 'vitest'
import type { Destination, Effect, FetchedJob, Limit, PushItem, Settlement } from '#dist/store/contract.js'
import { type Bench, NOW, toQueue, withBench } from '../conformance/bench.ts'
import { postgres } from '../conformance/postgres.ts'
import { onPostgres } from './suite.ts'

const slots: Limit = { name: 'job:Slots', max: 1000, count: 0, per: 0, burst: 1, window: 'smooth' }
const rate: Limit = { name: 'job:Rate', max: 0, count: 1000, per: 1000, burst: 1000, window: 'smooth' }
const bid = 'b'.repeat(16)

/** Returns the number of messages to the server that `work` waits for, those that wake other processes left out. */
async function countedTrips(work: () => Promise<unknown>): Promise<number> {
  const query = vi.spyOn(pg.Client.prototype, 'query')
  try {
    await work()
    return query.mock.calls.filter(([sent]) => !JSON.stringify(sent).includes('pg_notify')).length
  } finally {
    query.mockRestore()
  }
}

/** Returns what `n` jobs with limits, then with locks, in a batch, and with events cost. */
async function costsOf(t: Bench, n: number): Promise<number[]> {
  const costs: number[] = []
  const count = async (work: () => Promise<unknown>) => void costs.push(await countedTrips(work))
  const owner = await t.owner()
  const all = Array.from({ length: n }, (_, i) => i)
  const jid = (i: number) => `${n}`.padStart(12, '0') + `${i}`.padStart(12, '0')
  const push = (more: (i: number) => Partial<PushItem> = () => ({})) =>
    t.store.jobs.push(
      all.map((i) => ({ ...toQueue('q', t.job(i)), ...more(i) }) as PushItem),
      NOW,
    )
  const fetch = async (): Promise<FetchedJob[]> => {
    const fetched = await t.fetch(owner, 'q', n)
    expect(fetched).toHaveLength(n)
    return fetched
  }
  const settle = async (
    jobs: readonly FetchedJob[],
    effect: (i: number, job: FetchedJob) => Effect,
    to: (i: number, job: FetchedJob) => Destination | null = () => null,
  ) => {
    const settlements = jobs.map((job, i): Settlement => {
      const { queue, ticket } = job
      return { queue, ticket, move: to(i, job), processed: 1, failed: 0, effects: [effect(i, job)] }
    })
    const { settled } = await t.settleAndFetch(owner, { settlements })
    expect(settled.every((answer) => answer === 'ok')).toBe(true)
  }

  await push()
  let jobs = await fetch()
  const requests = jobs.map(({ ticket }) => ({ ticket, limits: [slots, rate] }))
  await count(() => t.store.limits.acquire(owner, requests))
  const release = (_i: number, { ticket }: FetchedJob): Effect => {
    return { kind: 'release-slot', limit: slots.name, owner, ticket }
  }
  await count(() => settle(jobs, release))
  await push()
  jobs = await fetch()
  const set = `limited:${rate.name}` as const
  const wait = (i: number, { text }: FetchedJob): Destination => ({ to: set, text, score: i })
  await count(() => settle(jobs, () => ({ kind: 'await-limit', limit: rate }), wait))
  const entries = await t.store.jobSets.page(set, { limit: n })
  const back = entries.map((entry) => ({ ...entry, to: toQueue('q', entry.text) }))
  await count(() => t.store.jobSets.swap(set, back, NOW))
  await t.settleAndFetch(owner, {
    settlements: (await fetch()).map((job) => ({ ...job, move: null, processed: 1, failed: 0 })),
  })

  const unique = (i: number) => ({ unique: { jid: jid(i), claims: [{ key: `lock ${jid(i)}` }] } })
  await count(() => push(unique))
  jobs = await fetch()
  await count(() => settle(jobs, (i) => ({ kind: 'release-unique', key: `lock ${jid(i)}`, holder: jid(i) })))

  const batch = { bid: `${n}${bid}`.slice(0, 16), parent: null, meta: '{}', job: null, keep: 1, createdAt: NOW }
  const callbacks = { onComplete: null, onSuccess: null, onDeath: null }
  const members = all.map((i) => ({ bid: batch.bid, id: jid(i), item: toQueue('q', t.job(i)) }))
  await count(() => t.store.batches.push({ batches: [{ ...batch, ...callbacks }], members }, NOW))
  jobs = await fetch()
  await count(() => settle(jobs, (i) => ({ kind: 'batch', bid: batch.bid, member: jid(i), change: 'succeeded' })))
  expect(await t.store.batches.find(batch.bid)).toMatchObject({ total: n, pending: 0, succeeded: n })

  await t.store.events.record(100_000, NOW)
  await push()
  jobs = await fetch()
  await count(() => settle(jobs, (i) => ({ kind: 'record', jid: jid(i), about: '[]' })))
  return costs
}

onPostgres('statements', () => {
  test('limits, locks, batches and events of a hundred jobs cost as many statements as those of two', () =>
    withBench(postgres, async (t) => {
      await costsOf(t, 1)
      const two = await costsOf(t, 2)
      expect(await costsOf(t, 100)).toEqual(two)
      expect(Math.max(...two)).toBeLessThan(10)
    }))
})
