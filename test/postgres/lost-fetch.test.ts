import { expect, onTestFinished, test, vi } from 'vitest'
import type { SettleAndFetch } from '#dist/store/contract.js'
import { openStore } from '#dist/store/open.js'
import { NOW, toQueue, withBench } from '../conformance/bench.ts'
import { postgres } from '../conformance/postgres.ts'
import { until } from '../engine/bench.ts'
import { startAnswerProxy } from './answer-proxy.ts'
import { onPostgres } from './suite.ts'

/** Replaces the monotonic clock until the end of the test. Returns a function that advances it by seconds. */
function controlClock(): (seconds: number) => void {
  const now = performance.now.bind(performance)
  let ahead = 0
  const mock = vi.spyOn(performance, 'now').mockImplementation(() => now() + ahead)
  onTestFinished(() => mock.mockRestore())
  return (seconds) => {
    ahead += seconds * 1000
  }
}

onPostgres('an answer that is lost', () => {
  test('the next fetch returns the jobs of a fetch whose answer was lost', () =>
    withBench(postgres, async (t) => {
      await t.store.jobs.push(
        [1, 2, 3].map((n) => toQueue('q', t.job(n))),
        NOW,
      )
      const proxy = await startAnswerProxy(t.url)
      const store = openStore(proxy.url)
      try {
        await store.workers.join('w', { queues: ['q'], seconds: 30, host: 'h' })
        const step = (n: number, tickets: string[] = []) => {
          const settlements = tickets.map(
            (ticket) => ({ queue: 'q', ticket, move: null, processed: 1, failed: 0 }) as const,
          )
          return store.workers.settleAndFetch('w', { now: NOW, started: [], settlements, fetch: { queues: ['q'], n } })
        }
        const [first] = (await step(1)).fetched
        proxy.lose()
        await expect(step(1)).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' })
        const { fetched } = await step(2)
        expect(fetched.map(({ text }) => text).sort()).toEqual([t.job(2), t.job(3)])
        const tickets = [first, ...fetched].map((job) => (job as { ticket: string }).ticket)
        expect(await step(5, tickets)).toMatchObject({ settled: ['ok', 'ok', 'ok'], fetched: [] })
        expect((await t.store.workers.fetched({ limit: 10 })).items).toEqual([])
      } finally {
        await store.close()
      }
    }))

  test('a fetch returns a job of a fetch whose answer was lost only if it asks for the queue of the job', () =>
    withBench(postgres, async (t) => {
      await t.store.jobs.push([toQueue('q', t.job(1)), toQueue('s', t.job(2))], NOW)
      const proxy = await startAnswerProxy(t.url)
      const store = openStore(proxy.url)
      try {
        await store.workers.join('w', { queues: ['q', 's'], seconds: 30, host: 'h' })
        const fetch = async (...queues: string[]) => {
          const request = { now: NOW, started: [], settlements: [], fetch: { queues, n: 5 } }
          return (await store.workers.settleAndFetch('w', request)).fetched.map(({ text }) => text)
        }
        proxy.lose()
        await expect(fetch('q')).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' })
        expect(await fetch('s')).toEqual([t.job(2)])
        expect(await fetch('q')).toEqual([t.job(1)])
      } finally {
        await store.close()
      }
    }))

  test.each(['while another fetch searches for lost jobs', 'after another fetch has searched for lost jobs'])(
    'a job runs once when the answer to its fetch comes %s',
    (order) =>
      withBench(postgres, async (t) => {
        await t.store.jobs.push([toQueue('q', t.job(1)), toQueue('r', t.job(2))], NOW)
        const proxy = await startAnswerProxy(t.url)
        const store = openStore(proxy.url)
        const moveClock = controlClock()
        try {
          await store.workers.join('w', { queues: ['q', 'r'], seconds: 30, host: 'h' })
          const ran: string[] = []
          /** Fetches jobs, runs them, and settles them. */
          const work = async (...queues: string[]) => {
            const step = (settlements: SettleAndFetch['settlements'], n: number) =>
              store.workers.settleAndFetch('w', { now: NOW, started: [], settlements, fetch: { queues, n } })
            const { fetched } = await step([], 5)
            ran.push(...fetched.map(({ text }) => text))
            const ended = fetched.map(
              ({ queue, ticket }) => ({ queue, ticket, move: null, processed: 1, failed: 0 }) as const,
            )
            if (ended.length > 0) await step(ended, 0)
          }
          proxy.lose()
          await expect(work('q')).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' })
          const first = proxy.hold('{"r"}')
          const late = work('r')
          await first.caught
          await until(async () => (await t.store.workers.fetched({ limit: 10 })).items.length === 2)
          moveClock(2)
          if (order.startsWith('while')) {
            const second = proxy.hold('{"q","r"}')
            const searching = work('q', 'r')
            await second.caught
            first.release()
            await late
            second.release()
            await searching
          } else {
            await work('q', 'r')
            first.release()
            await late
          }
          expect(ran.sort()).toEqual([t.job(1), t.job(2)])
          expect((await t.store.workers.fetched({ limit: 10 })).items).toEqual([])
        } finally {
          await store.close()
        }
      }),
  )

  test('a later fetch returns a lost job when the call that found it fails', () =>
    withBench(postgres, async (t) => {
      await t.store.jobs.push([toQueue('q', t.job(1))], NOW)
      const proxy = await startAnswerProxy(t.url)
      const store = openStore(proxy.url)
      const moveClock = controlClock()
      try {
        await store.workers.join('w', { queues: ['q'], seconds: 30, host: 'h' })
        const fetch = async () => {
          const request = { now: NOW, started: [], settlements: [], fetch: { queues: ['q'], n: 2 } }
          return (await store.workers.settleAndFetch('w', request)).fetched.map(({ text }) => text)
        }
        proxy.lose()
        await expect(fetch()).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' })
        proxy.lose('{"q"}')
        await expect(fetch()).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' })
        moveClock(2)
        expect(await fetch()).toEqual([t.job(1)])
        expect(await fetch()).toEqual([])
      } finally {
        await store.close()
      }
    }))

  test('a fetch returns the jobs of a lost answer even after the worker had no free slot for minutes', () =>
    withBench(postgres, async (t) => {
      await t.store.jobs.push([toQueue('q', t.job(1)), toQueue('q', t.job(2))], NOW)
      const proxy = await startAnswerProxy(t.url)
      const store = openStore(proxy.url)
      const moveClock = controlClock()
      try {
        await store.workers.join('w', { queues: ['q'], seconds: 30, host: 'h' })
        const fetch = async (n: number) => {
          const request = { now: NOW, started: [], settlements: [], fetch: { queues: ['q'], n } }
          return (await store.workers.settleAndFetch('w', request)).fetched.map(({ text }) => text)
        }
        proxy.lose()
        await expect(fetch(2)).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' })
        expect(await fetch(1)).toEqual([t.job(1)])
        moveClock(300)
        expect(await fetch(1)).toEqual([t.job(2)])
      } finally {
        await store.close()
      }
    }))

  test('a job whose settlement a failover lost runs again, even while its worker is busy for minutes', () =>
    withBench(postgres, async (t) => {
      const client = await t.connect()
      const owner = await t.owner()
      const moveClock = controlClock()
      await t.store.jobs.push([toQueue('q', t.job(1))], NOW)
      const [job] = await t.fetch(owner, 'q')
      await client.query('CREATE TABLE kept AS SELECT * FROM highkiq.fetched')
      await t.settleAndFetch(owner, { settlements: [{ ...job, move: null, processed: 1, failed: 0 }] })
      await client.query('INSERT INTO highkiq.fetched SELECT * FROM kept')
      await client.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
      )
      // The connections are gone.
      await until(() => t.store.workers.leases().then(Boolean, () => false))
      const found: string[] = []
      await until(async () => {
        moveClock(300)
        found.push(...(await t.fetch(owner, 'q')).map(({ text }) => text))
        return found.length > 0
      })
      expect(found).toEqual([t.job(1)])
    }))

  test('a push whose answer was lost throws an error with maybePushed', () =>
    withBench(postgres, async (t) => {
      await t.store.jobs.push([toQueue('q', t.job(1))], NOW)
      const proxy = await startAnswerProxy(t.url)
      const store = openStore(proxy.url)
      try {
        await store.open()
        proxy.lose()
        await expect(store.jobs.push([toQueue('q', t.job(2))], NOW)).rejects.toMatchObject({ maybePushed: true })
        expect(await t.store.jobs.queues(['q'])).toMatchObject([{ size: 2 }])
      } finally {
        await store.close()
      }
    }))
})
