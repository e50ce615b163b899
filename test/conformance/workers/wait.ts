import { expect } from 'vitest'
import type { Store } from '#dist/store/contract.js'
import { type Case, done, NOW, pause, release, requestOf, textsOf, timed, toQueue } from '../bench.ts'
import { startVictim } from './victims.ts'

/**
 * Waiting for jobs. A store may wake a waiter without a reason, so each case checks that a waiter that fetches whenever it
 * wakes gets its job soon.
 */
const PROMPT = 1000
const NEVER = new AbortController().signal

export const wait: Case[] = [
  {
    name: 'a waiter gets the job that is pushed by its own process, promptly',
    async run(t) {
      const owner = await t.owner()
      const waiting = timed(receive(t.store, owner, ['q']))
      await pause(100)
      await t.push('q', t.job(1))
      const { ms, value } = await waiting
      expect(value).toEqual([t.job(1)])
      expect(ms).toBeLessThan(100 + PROMPT)
    },
  },
  {
    name: 'a job that is there already ends the wait at once',
    async run(t) {
      const owner = await t.owner()
      await t.push('q', t.job(1))
      expect((await timed(receive(t.store, owner, ['p', 'q']))).ms).toBeLessThan(PROMPT)
    },
  },
  {
    name: 'a job pushed between an empty fetch and the wait ends the wait',
    async run(t) {
      const owner = await t.owner()
      for (let n = 0; n < 20; n++) {
        expect(await t.fetch(owner, 'q')).toEqual([])
        const [{ ms, value }] = await Promise.all([timed(receive(t.store, owner, ['q'], true)), t.push('q', t.job(n))])
        expect(value).toEqual([t.job(n)])
        expect(ms).toBeLessThan(PROMPT)
      }
    },
  },
  {
    name: 'a waiter gets the job that another connection pushes',
    shared: true,
    async run(t) {
      const owner = await t.owner()
      const other = await t.another()
      await other.open()
      const waiting = timed(receive(t.store, owner, ['q']))
      await pause(100)
      await other.jobs.push([toQueue('q', t.job(1))], NOW)
      const { ms, value } = await waiting
      expect(value).toEqual([t.job(1)])
      expect(ms).toBeLessThan(100 + 2 * PROMPT)
    },
  },
  {
    name: 'a waiter gets the job that another process pushes',
    shared: true,
    async run(t) {
      const owner = await t.owner()
      const waiting = receive(t.store, owner, ['q'])
      const victim = startVictim(t, t.url, 'push-one', 1)
      await Promise.race([victim.begun, victim.lines])
      const at = performance.now()
      const value = await waiting
      expect(value).toHaveLength(1)
      expect(performance.now() - at).toBeLessThan(2 * PROMPT)
      await victim.lines
    },
  },
  {
    name: 'a waiter wakes for everything that makes a job ready: a release, a promotion, a rescue, a row',
    async run(t) {
      const [worker, dead, waiter] = [await t.owner(), await t.owner(), await t.owner()]
      await t.push('q', t.job(1), t.job(2))
      const [mine] = await t.fetch(worker, 'q')
      const [lost] = await t.fetch(dead, 'q')
      await t.store.jobs.push([{ to: 'schedule', text: t.job(3), score: 1 }], NOW)
      await t.store.workers.claim(dead)
      await t.store.tasks.create({
        id: '00000000000000aa',
        name: 'task',
        job: 'Row',
        queue: 'q',
        template: '{"class":"Row"}',
        window: 10,
        keepArgs: 'all',
        meta: '{}',
        createdAt: NOW,
        producer: 'me',
      })
      const steps: (() => Promise<unknown>)[] = [
        () => t.settleAndFetch(worker, { settlements: [release(mine)] }),
        () => t.store.jobSets.swap('schedule', [{ text: t.job(3), score: 1, to: toQueue('q', t.job(3)) }], NOW),
        () =>
          t.store.workers.rescue([{ owner: dead, queue: 'q', ticket: lost.ticket, to: toQueue('q', t.job(2)) }], NOW),
        () => t.store.tasks.addRows('00000000000000aa', 'me', 0, [{ args: '[1]' }], NOW),
      ]
      for (const step of steps) {
        const waiting = timed(receive(t.store, waiter, ['q']))
        await pause(30)
        await step()
        const { ms, value } = await waiting
        expect(value).toHaveLength(1)
        expect(ms).toBeLessThan(PROMPT)
      }
    },
  },
  {
    name: 'a waiter never gets a job of another queue, and its time runs out',
    async run(t) {
      const owner = await t.owner()
      const waiting = timed(receive(t.store, owner, ['q'], false, 400))
      for (let n = 0; n < 5; n++) {
        await pause(20)
        await t.push('other', t.job(n))
      }
      const { ms, value } = await waiting
      expect(value).toEqual([])
      expect(ms).toBeGreaterThan(380)
      expect(ms).toBeLessThan(400 + PROMPT)
      expect(await t.waiting('other')).toHaveLength(5)
    },
  },
  {
    name: 'an aborted wait resolves empty at once, also when it was aborted before',
    async run(t) {
      const owner = await t.owner()
      const stop = new AbortController()
      const waiting = timed(t.store.workers.waitForJobs(owner, ['q'], 1, 8000, stop.signal))
      await pause(50)
      stop.abort()
      const { ms, value } = await waiting
      expect(value).toEqual([])
      expect(ms).toBeLessThan(50 + PROMPT)
      const again = await timed(t.store.workers.waitForJobs(owner, ['q'], 1, 8000, stop.signal))
      expect(again.value).toEqual([])
      expect(again.ms).toBeLessThan(PROMPT)
    },
  },
  {
    name: 'one push wakes as many waiters as it needs: every job is fetched once',
    async run(t) {
      const owners = await Promise.all([1, 2, 3].map(() => t.owner()))
      const waiting = Promise.all(owners.map((owner) => receive(t.store, owner, ['q'])))
      await pause(50)
      await t.push('q', t.job(1), t.job(2), t.job(3))
      expect((await waiting).flat().sort()).toEqual([t.job(1), t.job(2), t.job(3)])
    },
  },
  {
    name: 'jobs that are fetched while waiting belong to the owner, and are at most n',
    async run(t) {
      const owner = await t.owner()
      await t.push('q', t.job(1), t.job(2), t.job(3))
      const handed = await t.store.workers.waitForJobs(owner, ['q'], 1, 1000, NEVER)
      expect(handed.length).toBeLessThanOrEqual(1)
      const taken = handed.length > 0 ? handed : await t.fetch(owner, 'q')
      expect(textsOf(taken)).toEqual([t.job(1)])
      expect((await t.settleAndFetch(owner, { settlements: taken.map((one) => done(one)) })).settled).toEqual(['ok'])
      expect(await t.waiting('q')).toEqual([t.job(2), t.job(3)])
    },
  },
  {
    name: 'closing the store ends its waits',
    async run(t) {
      const owner = await t.owner()
      const waits = Promise.allSettled([
        t.store.workers.waitForJobs(owner, ['q'], 1, 8000, NEVER),
        t.store.jobSets.waitUntilDue(8000, NEVER),
      ])
      await pause(50)
      const closing = timed(Promise.all([waits, t.store.close()]))
      const { ms, value } = await closing
      expect(ms).toBeLessThan(PROMPT)
      for (const one of value[0]) {
        if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'STORE_CLOSED' })
      }
    },
  },
]

/** Waits and fetches like a worker until it has a job or `ms` are over. Returns the texts. */
async function receive(store: Store, owner: string, queues: string[], waitFirst = false, ms = 8000): Promise<string[]> {
  const end = performance.now() + ms
  for (let first = true; ; first = false) {
    if (!(first && waitFirst)) {
      const { fetched: taken } = await store.workers.settleAndFetch(owner, requestOf({ fetch: { queues, n: 1 } }))
      if (taken.length > 0) return textsOf(taken)
    }
    const left = end - performance.now()
    if (left <= 0) return []
    const handed = await store.workers.waitForJobs(owner, queues, 1, left, NEVER)
    if (handed.length > 0) return textsOf(handed)
  }
}
