import pg from 'pg'
import { expect, test } from 'vitest'
import type { OrderedPush, Settlement } from '#dist/store/contract.js'
import { type Bench, NOW, toQueue, withBench } from '../conformance/bench.ts'
import { postgres } from '../conformance/postgres.ts'
import { onPostgres } from './suite.ts'

/** Makes the server as it was before some jobs, like a standby that had not received them. */
async function forget(t: Bench, sql: string): Promise<void> {
  const client = new pg.Client(t.url)
  await client.connect()
  try {
    await client.query(sql.replaceAll('hk.', 'highkiq.'))
  } finally {
    await client.end()
  }
}

const done = { move: null, processed: 1, failed: 0 } as const
const ends: [name: string, end: Omit<Settlement, 'queue' | 'ticket'>][] = [
  ['done', done],
  ['moved', { ...done, move: { to: 'retry', score: 1, text: '{}' }, failed: 1 }],
]

onPostgres('after a failover to a standby that was behind', () => {
  test.each(ends)(
    'a job at a position that is given out again is fetched, and the former one, %s, does not end it',
    (_, end) =>
      withBench(postgres, async (t) => {
        const owner = await t.owner()
        const pushed = async (n: number) => {
          await t.store.jobs.push([toQueue('q', t.job(n))], NOW)
          return (await t.fetch(owner, 'q'))[0]
        }
        const former = await pushed(1)
        await forget(t, `DELETE FROM hk.fetched; SELECT setval('hk.back_position', 1, false)`)
        const next = await pushed(2)
        expect(next.text).toBe(t.job(2))
        expect(next.ticket.split(':').slice(0, 2)).toEqual(former.ticket.split(':').slice(0, 2))
        const settle = async (...jobs: (typeof next)[]) => {
          const settlements = jobs.map((job) => ({ ...end, queue: 'q', ticket: job.ticket }))
          return (await t.settleAndFetch(owner, { settlements })).settled
        }
        expect(await settle(former)).toEqual(['fenced'])
        expect((await t.store.workers.fetched({ limit: 9 })).items).toMatchObject([{ text: t.job(2) }])
        expect(await settle(former, next)).toEqual(['fenced', 'ok'])
        expect((await t.store.workers.fetched({ limit: 9 })).items).toEqual([])
      }),
  )

  test('the end of a former fetch of an ordered id does not end the next one', () =>
    withBench(postgres, async (t) => {
      const { ordered } = t.store
      const owner = await t.owner()
      const push: OrderedPush = { id: '1', payload: 'v', score: 1, performIn: 0 }
      await ordered.push('Sync', 1, [push], NOW)
      await ordered.join('Sync', owner)
      const { token = 0 } = (await ordered.acquireShard('Sync', 0, owner, 3, NOW)) ?? {}
      const shard = { shard: 0, token }
      const fetch = async (now: number) => {
        const request = { now, settlements: [], fetch: [{ ...shard, n: 1 }], maxPayloads: 9 }
        return (await ordered.settleAndFetch('Sync', owner, request)).fetched[0]?.ids[0]?.ticket as string
      }
      const settle = async (ticket: string) => {
        const settlements = [{ ...shard, id: '1', ticket, end: { kind: 'done' as const } }]
        const request = { now: NOW, settlements, fetch: [], maxPayloads: 9 }
        return (await ordered.settleAndFetch('Sync', owner, request)).settled
      }
      const later = Date.now() + 10_000
      const former = await fetch(later)
      await forget(
        t,
        'DELETE FROM hk.ordered_in_flight; UPDATE hk.ordered_shard SET busy = 0, fetch_number = fetch_number - 1',
      )
      await ordered.push('Sync', 1, [push], NOW)
      const next = await fetch(later + 1)
      expect(await settle(former)).toEqual(['fenced'])
      expect(await settle(next)).toEqual(['ok'])
    }))
})
