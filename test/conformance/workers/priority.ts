import { expect } from 'vitest'
import type { FetchedJob, Store } from '#dist/store/contract.js'
import { type Bench, type Case, done, NOW, release, requestOf, textsOf, timed, toQueue } from '../bench.ts'

const NEVER = new AbortController().signal

/** Priorities of a queue: jobs of `p3:q` are those of queue `q` with priority 3. */
export const priority: Case[] = [
  {
    name: 'jobs are fetched by priority, then by age, and each says where it was pushed',
    async run(t) {
      const owner = await t.owner()
      await pushMixed(t)
      const fetched = [
        ...(await t.fetch(owner, 'q', 3)),
        ...(await t.fetch(owner, 'q', 1)),
        ...(await t.fetch(owner, 'q', 9)),
      ]
      expect(fetched.map(({ queue, text }) => [queue, JSON.parse(text).args[0]])).toEqual([
        ['p9:q', 'g'],
        ['p5:q', 'b'],
        ['p5:q', 'e'],
        ['p1:q', 'd'],
        ['q', 'a'],
        ['q', 'c'],
        ['q', 'f'],
      ])
      const { settled } = await t.settleAndFetch(owner, { settlements: fetched.map((one) => done(one)) })
      expect(settled).toEqual(fetched.map(() => 'ok'))
      expect(await t.store.metrics.totals()).toMatchObject({ enqueued: 0, fetched: 0, processed: 7 })
    },
  },
  {
    name: 'a priority of one queue has no effect on another',
    async run(t) {
      const owner = await t.owner({ queues: ['q', 'other'] })
      await t.push('p9:other', t.job('late'))
      await t.push('q', t.job('a'))
      await t.push('p1:q', t.job('b'))
      expect(argsOf(await t.fetch(owner, ['q', 'other'], 9))).toEqual(['b', 'a', 'late'])
    },
  },
  {
    name: 'a requeued job comes first among those with its priority',
    async run(t) {
      const owner = await t.owner()
      await pushMixed(t)
      const [g, b, e, d, a] = await t.fetch(owner, 'q', 5)
      await t.settleAndFetch(owner, { settlements: [a, d, e, b, g].map((one) => release(one)) })
      expect(argsOf(await t.fetch(owner, 'q', 9))).toEqual(['g', 'b', 'e', 'd', 'a', 'c', 'f'])
    },
  },
  {
    name: 'a queue has the jobs with all priorities, in the order in which they are fetched',
    async run(t) {
      await pushMixed(t)
      const names = ['g', 'b', 'e', 'd', 'a', 'c', 'f']
      const [info, ...rest] = await t.store.jobs.queues()
      expect(rest).toEqual([])
      expect(info).toMatchObject({ name: 'q', size: 7, next: t.job('g') })
      for (const next of ['b', 'd', 'a']) expect([info?.next, ...(info?.others ?? [])]).toContain(t.job(next))
      expect(await t.store.jobs.queues(['q'])).toEqual([info])
      expect(argsOf((await t.waiting('q')).map((text) => ({ text })))).toEqual(names)
      for (let offset = 0; offset < 8; offset++) {
        const page = await t.store.jobs.peek('q', offset, 2)
        expect(argsOf(page.map((text) => ({ text })))).toEqual(names.slice(offset, offset + 2))
      }
      for (const limit of [1, 2, 3, 10]) {
        for (const oldestFirst of [false, true]) {
          const found: string[] = []
          let after: string | undefined
          do {
            const { items, next } = await t.store.search.scanQueue('q', '', { after, oldestFirst, limit })
            found.push(...argsOf(items))
            after = next ?? undefined
          } while (after !== undefined)
          expect(found).toEqual(oldestFirst ? names : names.toReversed())
        }
      }
    },
  },
  {
    name: 'pull finds a job with a priority, with and without a hint',
    async run(t) {
      await pushMixed(t)
      const { items } = await t.store.search.scanQueue('q', '', { limit: 10 })
      const [e] = items.filter(({ text }) => text === t.job('e'))
      const near = await t.store.search.scanQueue('q', '', { at: e?.at, limit: 10 })
      expect(argsOf(near.items)).toContain('e')
      const pulls = [
        { text: t.job('e'), at: e?.at, to: null },
        { text: t.job('d'), to: toQueue('p9:q', t.job('d')) },
        { text: t.job('c'), to: null },
        { text: t.job('missing'), to: null },
      ]
      expect(await t.store.search.pull('q', pulls, NOW)).toEqual(['ok', 'ok', 'ok', 'gone'])
      expect(argsOf((await t.waiting('q')).map((text) => ({ text })))).toEqual(['g', 'd', 'b', 'a', 'f'])
      expect(await t.store.jobs.queues(['q'])).toMatchObject([{ size: 5 }])
    },
  },
  {
    name: 'clearing a queue drops the jobs with all priorities, except those with a needle',
    async run(t) {
      await t.push('q', t.job('a', { hk_lock: 'x' }), t.job('b'))
      await t.push('p3:q', t.job('c'), t.job('d', { hk_lock: 'y' }))
      // A cron entry can hold locks.
      await t.store.crons.define('entry', { old: null, text: '{}', tick: 0 }, 60)
      const tick = { text: '{}', from: 0, to: 1, push: { jid: 'x', item: toQueue('other', t.job(0)), lock: 'x' } }
      await t.store.crons.tick('entry', tick, NOW)
      const cleared = await t.store.search.clearQueue('q', ['"hk_lock"'], 100)
      expect(cleared).toMatchObject({ removed: 2, done: true })
      expect(argsOf(cleared.kept)).toEqual(['d', 'a'])
      const pulls = cleared.kept.map((one) => ({ ...one, to: null }))
      expect(await t.store.search.pull('q', pulls, NOW)).toEqual(['ok', 'ok'])
      await t.store.search.clearQueue('q', [], 100)
      expect((await t.store.jobs.queues()).map(({ name }) => name)).toEqual(['other'])
    },
  },
  {
    name: 'a paused queue gives none of its jobs, whatever their priority',
    async run(t) {
      const owner = await t.owner()
      await pushMixed(t)
      await t.store.jobs.pauseQueue('q', true)
      expect(await t.fetch(owner, 'q', 9)).toEqual([])
      expect(await t.store.workers.waitForJobs(owner, ['q'], 9, 300, NEVER)).toEqual([])
      await t.store.jobs.pauseQueue('q', false)
      expect(argsOf(await t.fetch(owner, 'q', 2))).toEqual(['g', 'b'])
    },
  },
  {
    name: 'the jobs of a dead owner go back to the front of their priority, in their order',
    async run(t) {
      const dead = await t.owner()
      await pushMixed(t)
      await t.fetch(dead, 'q', 5)
      expect(await t.store.workers.claim(dead)).toBe(true)
      const orphaned = await t.store.workers.orphaned(100)
      const rescues = orphaned.map(({ owner, queue, ticket, text }) => ({
        owner,
        queue,
        ticket,
        to: toQueue(queue, text, 'front'),
      }))
      expect(await t.store.workers.rescue(rescues, NOW)).toEqual(orphaned.map(() => 'ok'))
      const living = await t.owner()
      expect(argsOf(await t.fetch(living, 'q', 9))).toEqual(['g', 'b', 'e', 'd', 'a', 'c', 'f'])
    },
  },
  {
    name: 'a waiter gets a job with a priority that its process pushes, promptly',
    async run(t) {
      const owner = await t.owner()
      for (const queue of ['p4:q', 'p7:q', 'p4:q', 'q']) {
        const waiting = timed(receive(t.store, owner, ['q']))
        await t.push(queue, t.job(queue))
        const { ms, value } = await waiting
        expect(value.map(({ text }) => text)).toEqual([t.job(queue)])
        expect(ms).toBeLessThan(1000)
        await t.settleAndFetch(owner, { settlements: value.map((one) => done(one)) })
      }
    },
  },
  {
    name: 'a waiter gets the first job with a priority that another process pushes, within a few seconds',
    shared: true,
    async run(t) {
      const owner = await t.owner()
      expect(await t.fetch(owner, 'q')).toEqual([])
      const waiting = receive(t.store, owner, ['q'])
      const other = await t.another()
      await other.jobs.push([toQueue('p2:q', t.job(1))], NOW)
      expect(textsOf(await waiting)).toEqual([t.job(1)])
    },
  },
  {
    name: 'a fetch has the highest priority first, also when a wait that ended has moved a job',
    async run(t) {
      const owner = await t.owner()
      for (const queue of ['p5:q', 'p9:q']) await t.push(queue, t.job(`first of ${queue}`))
      await t.settleAndFetch(owner, { settlements: (await t.fetch(owner, 'q', 2)).map((one) => done(one)) })
      // After a cancellation a wait returns no job.
      await t.store.cancellations.request('some jid', NOW)
      await t.push('q', t.job('low'))
      expect(await t.store.workers.waitForJobs(owner, ['q'], 2, 5000, NEVER)).toEqual([])
      await t.push('q', t.job('lowest'))
      await t.push('p5:q', t.job('middle'))
      await t.push('p9:q', t.job('high'))
      expect(argsOf(await t.fetch(owner, 'q', 3))).toEqual(['high', 'middle', 'low'])
      expect(argsOf(await t.fetch(owner, 'q', 3))).toEqual(['lowest'])
    },
  },
  {
    name: 'jobs with all effects and destinations reach their priority',
    async run(t) {
      const owner = await t.owner()
      await t.store.jobs.push([{ ...toQueue('p2:q', t.job('once')), once: 'one' }], NOW)
      await t.store.jobs.push([{ ...toQueue('p3:q', t.job('once')), once: 'one' }], NOW)
      await t.store.jobs.push([{ to: 'schedule', text: t.job('due'), score: 1 }], NOW)
      const swap = { text: t.job('due'), score: 1, to: toQueue('p6:q', t.job('due')) }
      expect(await t.store.jobSets.swap('schedule', [swap], NOW)).toEqual(['ok'])
      expect(argsOf(await t.fetch(owner, 'q', 9))).toEqual(['due', 'once'])
    },
  },
  {
    name: 'random pushes, fetches, requeues and deaths lose nothing and keep the order',
    seconds: 60,
    async run(t) {
      const expected = new Map<string, { priority: number; at: number }>()
      const ended = new Set<string>()
      let owner = await t.owner()
      let held: FetchedJob[] = []
      const fetchSome = async () => {
        const fetched = await t.fetch(owner, 'q', 1 + t.dice(5))
        const rank = ({ text }: FetchedJob) => {
          const { priority = 0, at = 0 } = expected.get(text) ?? {}
          return at - priority * 1e6
        }
        for (const [i, one] of fetched.entries())
          if (i > 0) expect(rank(fetched[i - 1] as FetchedJob)).toBeLessThan(rank(one))
        held.push(...fetched)
      }
      for (let n = 0; n < 300; n++) {
        const step = t.dice(10)
        if (step < 5) {
          const priority = t.dice(3) === 0 ? 1 + t.dice(9) : 0
          const text = t.job(n)
          expected.set(text, { priority, at: n })
          await t.push(priority > 0 ? `p${priority}:q` : 'q', text)
        } else if (step < 8) {
          await fetchSome()
        } else if (step < 9) {
          const some = held.splice(0, 1 + t.dice(3))
          await t.settleAndFetch(owner, { settlements: some.map((one) => done(one)) })
          for (const { text } of some) ended.add(text)
        } else {
          await t.store.workers.claim(owner)
          const orphaned = await t.store.workers.orphaned(1000)
          const rescues = orphaned.map((one) => ({ ...one, to: toQueue(one.queue, one.text, 'front') }))
          expect(await t.store.workers.rescue(rescues, NOW)).toEqual(orphaned.map(() => 'ok'))
          held = []
          owner = await t.owner()
        }
      }
      for (let before = -1; held.length > before; ) {
        before = held.length
        await fetchSome()
      }
      expect([...ended, ...textsOf(held)].sort()).toEqual([...expected.keys()].sort())
    },
  },
]

/** Pushes a (0), b (5), c (0), d (1), e (5), f (0), g (9). */
async function pushMixed(t: Bench): Promise<void> {
  const queues = { a: 'q', b: 'p5:q', c: 'q', d: 'p1:q', e: 'p5:q', f: 'q', g: 'p9:q' }
  for (const [name, queue] of Object.entries(queues)) await t.push(queue, t.job(name))
}

function argsOf(items: readonly { text: string }[]): string[] {
  return items.map(({ text }) => JSON.parse(text).args[0])
}

/** Waits and fetches until there is a job. */
async function receive(store: Store, owner: string, queues: string[]): Promise<FetchedJob[]> {
  for (;;) {
    const waited = await store.workers.waitForJobs(owner, queues, 1, 5000, NEVER)
    if (waited.length > 0) return waited
    const { fetched } = await store.workers.settleAndFetch(owner, requestOf({ fetch: { queues, n: 1 } }))
    if (fetched.length > 0) return fetched
  }
}
