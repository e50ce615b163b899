import { expect } from 'vitest'
import { type Case, done, NOW, release, retry, sure, toQueue } from '../bench.ts'

const DAY = 86_400_000

/** Counts, and reading queues. */
export const counters: Case[] = [
  {
    name: 'an empty store has nothing but zeros',
    async run(t) {
      expect(await t.store.metrics.totals()).toEqual({
        processed: 0,
        failed: 0,
        enqueued: 0,
        backlog: 0,
        limited: 0,
        fetched: 0,
        scheduled: 0,
        retries: 0,
        dead: 0,
      })
      expect(await t.store.jobs.queues()).toEqual([])
      expect(await t.store.metrics.history(['2026-05-17'])).toEqual([{ processed: 0, failed: 0 }])
      expect(await t.store.workers.processes()).toEqual([])
      expect(await t.store.tasks.page({ limit: 10 })).toEqual([])
      expect(await t.store.workers.leases()).toEqual([])
      expect(t.store.kind).not.toBe('')
      expect(t.store.url).not.toBe('')
    },
  },
  {
    name: 'stats count jobs where they are',
    async run(t) {
      await t.push('a', t.job(1), t.job(2), t.job(3))
      await t.push('b', t.job(4))
      await t.store.jobs.push(
        [
          { to: 'schedule', text: t.job(5), score: 1 },
          { to: 'schedule', text: t.job(6), score: 2 },
          { to: 'dead', text: t.job(7), score: 1 },
          { to: 'retry', text: t.job(8), score: 1 },
        ],
        NOW,
      )
      const owner = await t.owner()
      await t.fetch(owner, ['a', 'b'], 2)
      expect(await t.store.metrics.totals()).toEqual({
        processed: 0,
        failed: 0,
        enqueued: 2,
        backlog: 0,
        fetched: 2,
        scheduled: 2,
        retries: 1,
        limited: 0,
        dead: 1,
      })
    },
  },
  {
    name: 'stats count the fetched jobs of workers with many queues',
    async run(t) {
      const queues = Array.from({ length: 120 }, (_, n) => `q${n}`)
      const used = ['q0', 'q49', 'q50', 'q119']
      for (const [n, queue] of used.entries()) await t.push(queue, t.job(2 * n), t.job(2 * n + 1))
      const [owner, other] = [await t.owner({ queues }), await t.owner({ queues })]
      for (const queue of used) await t.fetch(owner, queue, 1)
      await t.fetch(other, 'q119', 1)
      expect(await t.store.metrics.totals()).toMatchObject({ enqueued: 3, fetched: 5 })
    },
  },
  {
    name: 'a settlement changes only the counters that it names',
    async run(t) {
      await t.push('q', ...[1, 2, 3, 4].map((n) => t.job(n)))
      const owner = await t.owner()
      const [a, b, c, d] = await t.fetch(owner, 'q', 4)
      await t.settleAndFetch(owner, { settlements: [done(a), retry(b, 1), release(c), done(d, { failed: 1 })] })
      expect(await t.store.metrics.totals()).toMatchObject({
        processed: 3,
        failed: 2,
        enqueued: 1,
        retries: 1,
        fetched: 0,
      })
    },
  },
  {
    name: 'history counts by the UTC day of the call, in the order given',
    async run(t) {
      await t.push('q', ...[1, 2, 3, 4, 5].map((n) => t.job(n)))
      const owner = await t.owner()
      const [a, b, c, d, e] = await t.fetch(owner, 'q', 5)
      const midnight = Date.UTC(2026, 4, 18)
      await t.settleAndFetch(owner, { now: NOW - DAY, settlements: [done(a)] })
      await t.settleAndFetch(owner, { now: midnight - 1, settlements: [done(b), retry(c, 1)] })
      await t.settleAndFetch(owner, { now: midnight, settlements: [retry(d, 1), release(e)] })
      expect(await t.store.metrics.history(['2026-05-18', '2026-05-16', '2026-05-17', '2020-01-01'])).toEqual([
        { processed: 1, failed: 1 },
        { processed: 1, failed: 0 },
        { processed: 2, failed: 1 },
        { processed: 0, failed: 0 },
      ])
      expect(await t.store.metrics.history([])).toEqual([])
    },
  },
  {
    name: 'queues returns sizes and next jobs',
    async run(t) {
      await t.push('a', t.job(1), t.job(2))
      await t.push('b', t.job(3))
      const owner = await t.owner()
      await t.fetch(owner, 'b')
      await t.store.jobs.push([toQueue('a', t.job(4), 'front')], NOW)
      const infos = await t.store.jobs.queues()
      expect(infos.find(({ name }) => name === 'a')).toEqual({ name: 'a', size: 3, limited: 0, next: t.job(4) })
      const empty = infos.find(({ name }) => name === 'b')
      if (empty) expect(empty).toEqual({ name: 'b', size: 0, limited: 0, next: null })
      expect(await t.store.jobs.queues(['none', 'a'])).toEqual([
        { name: 'none', size: 0, limited: 0, next: null },
        { name: 'a', size: 3, limited: 0, next: t.job(4) },
      ])
    },
  },
  {
    name: 'peek reads a queue from any position, next to be fetched first, and changes nothing',
    async run(t) {
      const texts = Array.from({ length: 7 }, (_, n) => t.job(n))
      await t.push('q', ...texts.slice(1))
      await t.store.jobs.push([toQueue('q', sure(texts[0]), 'front')], NOW)
      expect(await t.store.jobs.peek('q', 0, 3)).toEqual(texts.slice(0, 3))
      expect(await t.store.jobs.peek('q', 3, 3)).toEqual(texts.slice(3, 6))
      expect(await t.store.jobs.peek('q', 6, 3)).toEqual(texts.slice(6))
      expect(await t.store.jobs.peek('q', 7, 3)).toEqual([])
      expect(await t.store.jobs.peek('none', 0, 3)).toEqual([])
      expect(await t.waiting('q')).toEqual(texts)
    },
  },
  {
    name: 'a total is reset alone, and the figures of the day stay',
    async run(t) {
      await t.push('q', t.job(1), t.job(2))
      const owner = await t.owner()
      const [a, b] = await t.fetch(owner, 'q', 2)
      await t.settleAndFetch(owner, { settlements: [done(a), retry(b, 1)] })
      await t.store.metrics.resetTotals('failed')
      expect(await t.store.metrics.totals()).toMatchObject({ processed: 2, failed: 0 })
      await t.store.metrics.resetTotals('processed')
      expect(await t.store.metrics.totals()).toMatchObject({ processed: 0, failed: 0 })
      expect(await t.store.metrics.history(['2026-05-17'])).toEqual([{ processed: 2, failed: 1 }])
    },
  },
  {
    name: 'fetched returns the jobs of owners, page by page',
    async run(t) {
      await t.push('q', ...[1, 2, 3, 4, 5].map((n) => t.job(n)))
      await t.push('p', t.job(6))
      const [one, two] = [await t.owner({ queues: ['q', 'p'] }), await t.owner()]
      await t.fetch(one, ['p', 'q'], 3)
      const [first] = await t.fetch(two, 'q', 3)
      await t.settleAndFetch(two, { settlements: [done(first)] })
      await t.store.workers.claim(two)
      const all = []
      let after: string | undefined
      do {
        const page: Awaited<ReturnType<typeof t.store.workers.fetched>> = await t.store.workers.fetched({
          after,
          limit: 1,
        })
        all.push(...page.items)
        after = page.next ?? undefined
      } while (after !== undefined)
      const of = (owner: string, queue: string, n: number) => ({ owner, queue, text: t.job(n) })
      const expected = [of(one, 'p', 6), of(one, 'q', 1), of(one, 'q', 2), of(two, 'q', 4), of(two, 'q', 5)]
      expect(all).toHaveLength(5)
      expect(all).toEqual(expect.arrayContaining(expected))
      expect((await t.store.workers.fetched({ limit: 100 })).items).toHaveLength(5)
    },
  },
]
