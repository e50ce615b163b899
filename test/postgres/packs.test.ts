import { expect, test } from 'vitest'
import { type Bench, done, NOW, textsOf, toQueue, withBench } from '../conformance/bench.ts'
import { postgres } from '../conformance/postgres.ts'
import { pagesRead, rowsRead, rowsReadBy } from './reads.ts'
import { onPostgres } from './suite.ts'

onPostgres('the packs of a push', () => {
  const texts = (t: Bench, from: number, to: number) =>
    Array.from({ length: to - from }, (_, i) => t.job(String(from + i).padStart(3, '0')))
  /** Returns the numbers of packs, and of jobs that are not packed. */
  const rows = async (t: Bench) => {
    const client = await t.connect()
    const count = async (table: string) =>
      Number((await client.query(`SELECT count(*) FROM highkiq.${table}`)).rows[0]?.count)
    return [await count('pack'), await count('ready')]
  }

  /** Returns what an owner fetches from a queue while another one, which fetches `n` jobs of `queues`, has not committed yet. */
  const fetchBeside = async (t: Bench, queues: string, queue: string, n: number) => {
    const [one, other] = [await t.owner(), await t.owner()]
    const client = await t.connect()
    await client.query('BEGIN')
    await client.query(`SELECT highkiq.step_plain(1, '${one}', '{}', '{}', '{}', '2026-01-01', '${queues}', ${n}, 7)`)
    const fetched = await t.fetch(other, queue, n)
    await client.query('COMMIT')
    return fetched
  }

  test('have 8 small jobs each; a job that is pushed alone, and large ones, have a row of their own', () =>
    withBench(postgres, async (t) => {
      await t.push('q', ...texts(t, 0, 20))
      expect(await rows(t)).toEqual([3, 0])
      await t.push('q', t.job('alone'))
      await t.push('q', ...[1, 2].map((n) => t.job(n, { padding: 'x'.repeat(2000) })))
      expect(await rows(t)).toEqual([3, 3])
      await t.push('q', ...texts(t, 40, 48).map((text) => text.replace('{', `{"padding":"${'x'.repeat(700)}",`)))
      expect(await rows(t)).toEqual([3, 11])
      expect(await t.store.metrics.totals()).toMatchObject({ enqueued: 31 })
    }))

  test('are unpacked by a fetch, as many as it needs', () =>
    withBench(postgres, async (t) => {
      const all = texts(t, 0, 32)
      await t.push('q', ...all)
      const owner = await t.owner()
      const fetched = await t.fetch(owner, 'q', 10)
      expect(textsOf(fetched)).toEqual(all.slice(0, 10))
      expect(await rows(t)).toEqual([2, 6])
      // A step with an end that is more than a deletion fetches with another statement.
      const retried = { ...done(fetched[0], { failed: 1 }), move: { to: 'retry', text: 'r', score: 1 } } as const
      const next = await t.settleAndFetch(owner, { settlements: [retried], fetch: { queues: ['q'], n: 10 } })
      expect(textsOf(next.fetched)).toEqual(all.slice(10, 20))
      expect(textsOf(await t.fetch(owner, 'q', 50))).toEqual(all.slice(20))
      expect(await rows(t)).toEqual([0, 0])
    }))

  test('of several queues are unpacked in the order of the queues', () =>
    withBench(postgres, async (t) => {
      for (const queue of ['a', 'paused', 'b', 'c']) await t.push(queue, ...texts(t, 0, 16))
      await t.store.jobs.pauseQueue('paused', true)
      const queues = ['unknown', 'c', 'paused', 'a', 'b']
      const [owner, other] = [await t.owner(), await t.owner()]
      const fetched = await t.fetch(owner, queues, 20)
      expect(fetched.map(({ queue }) => queue)).toEqual([...Array(16).fill('c'), ...Array(4).fill('a')])
      expect(await rows(t)).toEqual([5, 4])
      const retried = { ...done(fetched[0], { failed: 1 }), move: { to: 'retry', text: 'r', score: 1 } } as const
      const next = await t.settleAndFetch(owner, { settlements: [retried], fetch: { queues, n: 8 } })
      expect(next.fetched.map(({ queue, text }) => [queue, text])).toEqual(texts(t, 4, 12).map((text) => ['a', text]))
      const rest = await t.fetch(other, queues, 99)
      expect(rest.map(({ queue }) => queue)).toEqual([...Array(4).fill('a'), ...Array(16).fill('b')])
      expect(await rows(t)).toEqual([2, 0])
    }))

  test('keep the order of jobs with priorities, of packed jobs and of others', () =>
    withBench(postgres, async (t) => {
      const [low, high, later] = [texts(t, 0, 9), texts(t, 100, 109), texts(t, 200, 209)]
      await t.push('q', ...low)
      await t.push('q', t.job('alone'))
      await t.push('p3:q', ...high)
      await t.push('q', ...later)
      await t.store.jobs.push([toQueue('q', t.job('first'), 'front')], NOW)
      const expected = [...high, t.job('first'), ...low, t.job('alone'), ...later]
      expect(await t.waiting('q')).toEqual(expected)
      expect(await t.store.jobs.queues(['q'])).toMatchObject([{ size: expected.length, next: high[0] }])
      const owner = await t.owner()
      const fetched: string[] = []
      for (let n = 1; fetched.length < expected.length; n++) fetched.push(...textsOf(await t.fetch(owner, 'q', n)))
      expect(fetched).toEqual(expected)
    }))

  test('keep the order of their other jobs when one job is pulled or changed', () =>
    withBench(postgres, async (t) => {
      const all = texts(t, 0, 24)
      await t.push('q', ...all)
      const { items } = await t.store.search.scanQueue('q', all[11] as string, { limit: 9 })
      expect(textsOf(items)).toEqual([all[11]])
      expect(
        await t.store.search.pull('q', [{ ...(items[0] as { text: string; at: string }), to: null }], NOW),
      ).toEqual(['ok'])
      expect(await rows(t)).toEqual([2, 7])
      const changed = { text: all[20] as string, to: { to: 'same', text: 'changed' } } as const
      expect(await t.store.search.pull('q', [changed], NOW)).toEqual(['ok'])
      const left = all.filter((_, n) => n !== 11).map((text) => (text === all[20] ? 'changed' : text))
      expect(await t.waiting('q')).toEqual(left)
      for (const offset of [0, 5, 9, 22])
        expect(await t.store.jobs.peek('q', offset, 3)).toEqual(left.slice(offset, offset + 3))
    }))

  test('are read by a page of jobs only as far as it needs them', () =>
    withBench(postgres, async (t) => {
      const all = texts(t, 0, 800)
      await t.push('q', ...all)
      const client = await t.connect()
      const page = async () => expect(await t.store.jobs.peek('q', 3, 80)).toEqual(all.slice(3, 83))
      expect(await rowsRead(client, 'pack', page)).toBe(11)
      const [queue] = (await client.query(`SELECT id FROM highkiq.queue WHERE name = 'q'`)).rows
      const newest = `SELECT job FROM highkiq.newest_jobs(${queue?.id}, 80)`
      const jobs = (await client.query(newest)).rows.map(({ job }) => job)
      expect(jobs).toEqual(all.slice(-80).reverse())
      expect(await rowsReadBy(client, 'pack', newest)).toBe(10)
    }))

  test('once deleted, are read once by a fetch, as their jobs are, while an open snapshot keeps the rows', () =>
    withBench(postgres, async (t) => {
      await t.push('q', ...texts(t, 0, 999))
      const [reader, client] = [await t.connect(), await t.connect()]
      await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM highkiq.pack')
      await client.query('SET enable_seqscan = off; SET enable_bitmapscan = off')
      const owner = await t.owner()
      const fetch = `SELECT * FROM highkiq.step_plain(1, '${owner}', '{}', '{}', '{}', '2026-01-01', '{q}', 1, 7)`
      const first = (table: string) => `SELECT position FROM highkiq.${table} ORDER BY queue, position LIMIT 1`
      // The first one also reads what the connection then remembers of the tables.
      await pagesRead(client, fetch)
      const few = await pagesRead(client, fetch)
      await t.fetch(owner, 'q', 900)
      const once = (await pagesRead(client, first('ready'))) + (await pagesRead(client, first('pack')))
      expect(once).toBeGreaterThan(20)
      expect(await pagesRead(client, fetch)).toBeLessThan(few + once * 1.2)
      await reader.query('COMMIT')
    }))

  test('are fetched once each by owners that fetch at the same time, and by no owner while their queue is paused', () =>
    withBench(postgres, async (t) => {
      const all = texts(t, 0, 400)
      await t.push('q', ...all)
      await t.store.jobs.pauseQueue('q', true)
      const owners = await Promise.all(
        Array.from({ length: 4 }, async () => ({ name: await t.owner(), store: await t.another() })),
      )
      expect(await t.fetch(owners[0]?.name as string, 'q', 9)).toEqual([])
      expect(await rows(t)).toEqual([50, 0])
      await t.store.jobs.pauseQueue('q', false)
      const fetched: string[] = []
      const fetchAll = async ({ name, store }: { name: string; store: Bench['store'] }) => {
        for (;;) {
          const some = textsOf(await t.fetch(name, 'q', 7, store))
          if (some.length === 0) return
          fetched.push(...some)
        }
      }
      await Promise.all(owners.map(fetchAll))
      expect(fetched.sort()).toEqual(all)
      expect(await t.store.metrics.totals()).toMatchObject({ enqueued: 0, fetched: 400 })
    }))

  test('are fetched before later jobs while another owner is fetching the jobs in front of them', () =>
    withBench(postgres, async (t) => {
      const [first, packed] = [texts(t, 0, 3), texts(t, 100, 116)]
      for (const text of first) await t.push('q', text)
      await t.push('q', ...packed)
      await t.push('q', t.job('later'))
      expect(textsOf(await fetchBeside(t, '{q}', 'q', 3))).toEqual(packed.slice(0, 3))
      expect(await t.waiting('q')).toEqual([...packed.slice(3), t.job('later')])
    }))

  test('are not touched by a fetch that finds enough jobs in earlier queues', () =>
    withBench(postgres, async (t) => {
      const packed = texts(t, 0, 16)
      for (const text of texts(t, 100, 103)) await t.push('high', text)
      await t.push('low', ...packed)
      expect(textsOf(await fetchBeside(t, '{high,low}', 'low', 3))).toEqual(packed.slice(0, 3))
    }))

  test('are deleted with their queue, except jobs that something else depends on', () =>
    withBench(postgres, async (t) => {
      await t.store.crons.define('entry', { old: null, text: '{}', tick: 1 }, 60)
      const all = texts(t, 0, 20)
      await t.push('q', ...all)
      const { removed, kept, done: isDone } = await t.store.search.clearQueue('q', ['"args":["009"]'], 1000)
      expect([removed, textsOf(kept), isDone]).toEqual([19, [all[9]], true])
      expect(await t.waiting('q')).toEqual([all[9]])
      await t.store.crons.remove('entry')
      await t.push('q', ...texts(t, 20, 40))
      expect(await t.store.search.clearQueue('q', ['"args":["009"]'], 1000)).toMatchObject({ removed: 21, done: true })
      expect([await t.waiting('q'), await rows(t)]).toEqual([[], [0, 0]])
      expect(await t.store.jobs.queues()).toEqual([])
    }))
})
