import { expect } from 'vitest'
import type { PushItem } from '#dist/store/contract.js'
import { type Case, done, NOW, textsOf, toQueue } from '../bench.ts'

/** Pushing: jobs are stored completely, in order, byte for byte. */
export const push: Case[] = [
  {
    name: 'jobs are fetched in the order of their pushes',
    async run(t) {
      await t.push('q', t.job(1), t.job(2))
      await t.push('q', t.job(3))
      const owner = await t.owner()
      expect(textsOf(await t.fetch(owner, 'q', 10))).toEqual([t.job(1), t.job(2), t.job(3)])
    },
  },
  {
    name: 'a job pushed to the front is next, the last one first',
    async run(t) {
      await t.push('q', t.job(1))
      await t.store.jobs.push(
        [toQueue('q', t.job(2), 'front'), toQueue('q', t.job(3), 'front'), toQueue('q', t.job(4))],
        NOW,
      )
      await t.store.jobs.push([toQueue('q', t.job(5), 'front')], NOW)
      const order = [5, 3, 2, 1, 4].map((n) => t.job(n))
      expect(await t.waiting('q')).toEqual(order)
      const owner = await t.owner()
      expect(textsOf(await t.fetch(owner, 'q', 10))).toEqual(order)
    },
  },
  {
    name: 'jobs of all kinds in one push keep the order of their queue',
    async run(t) {
      const kinds: ((item: PushItem, jid: string) => PushItem)[] = [
        (item) => item,
        (item, jid) => ({ ...item, unique: { jid, claims: [{ key: jid }] } }),
        (item, jid) => ({ ...item, once: jid }),
        (item) => ({ ...item, maxLength: 1000 }),
        (item, jid) => ({ ...item, effects: [{ kind: 'record', jid, about: '[]' }] }),
        (item, jid) => ({ ...item, effects: [{ kind: 'clear-cancellation', jid, at: NOW, dropped: false }] }),
      ]
      // Each kind comes behind each other one; then come many of one kind behind another one.
      const order = [...kinds.flatMap((_, i) => kinds.flatMap((_, j) => [i, j])), 1, ...Array(150).fill(0), 4, 2]
      const items = order.map((kind, n) =>
        (kinds[kind] as (typeof kinds)[number])(toQueue(n % 7 === 0 ? 'b' : 'a', t.job(n)), `jid ${n}`),
      )
      expect(await t.store.jobs.push(items, NOW)).toEqual([])
      const texts = (queue: string) =>
        items.flatMap((item) => ('queue' in item && item.queue === queue ? item.text : []))
      expect(await t.waiting('a')).toEqual(texts('a'))
      expect(await t.waiting('b')).toEqual(texts('b'))
    },
  },
  {
    name: 'one push may go to several queues and sets',
    async run(t) {
      await t.store.jobs.push(
        [
          toQueue('a', t.job(1)),
          { to: 'schedule', text: t.job(2), score: 2e9 },
          toQueue('b', t.job(3)),
          { to: 'retry', text: t.job(4), score: 2e9 + 0.5 },
          { to: 'dead', text: t.job(5), score: 1e9 },
          toQueue('a', t.job(6)),
        ],
        NOW,
      )
      expect(await t.waiting('a')).toEqual([t.job(1), t.job(6)])
      expect(await t.waiting('b')).toEqual([t.job(3)])
      expect(await t.store.jobSets.page('schedule', { limit: 9 })).toEqual([{ text: t.job(2), score: 2e9 }])
      expect(await t.store.jobSets.page('retry', { limit: 9 })).toEqual([{ text: t.job(4), score: 2e9 + 0.5 }])
      expect(await t.store.jobSets.page('dead', { limit: 9 })).toEqual([{ text: t.job(5), score: 1e9 }])
    },
  },
  {
    name: 'a text is kept byte for byte, in a queue, with an owner and in a set',
    async run(t) {
      const texts = [
        '{"args":[9007199254740993, 1.0, 1e3, -0.0, 123456789012345678901234567890]}',
        '{ "args" : [ ] , "z":1, "a" : {} }',
        '{"args":["žluťoučký kůň 中文 👩‍👩‍👧‍👦 \\u0000 \\ud83d \u2028 \u00a0 \u{10ffff} \ufeff"]}',
        '{"args":["it\'s; DROP TABLE job; -- \\"%_?1:x$1@y"]}',
        'not JSON at all {',
        '"',
      ]
      await t.push('q', ...texts)
      expect(await t.waiting('q')).toEqual(texts)
      const owner = await t.owner()
      const taken = await t.fetch(owner, 'q', 10)
      expect(textsOf(taken)).toEqual(texts)
      const moved = taken.map(({ queue, ticket, text }, i) => ({
        queue,
        ticket,
        move: { to: 'retry' as const, text, score: i },
        processed: 1 as const,
        failed: 1 as const,
      }))
      expect((await t.settleAndFetch(owner, { settlements: moved })).settled).toEqual(texts.map(() => 'ok'))
      expect(await t.store.jobSets.page('retry', { limit: 10 })).toEqual(texts.map((text, score) => ({ text, score })))
    },
  },
  {
    name: 'a text of 1 MB is kept byte for byte',
    async run(t) {
      const text = t.job(1, { args: ['0123456789abcdé…'.repeat(65_536)] })
      expect(Buffer.byteLength(text)).toBeGreaterThan(1_000_000)
      await t.push('q', text, t.job(2))
      const owner = await t.owner()
      const taken = textsOf(await t.fetch(owner, 'q', 2))
      expect(taken[0] === text).toBe(true)
      expect(taken[1]).toBe(t.job(2))
    },
  },
  {
    name: 'two jobs with the same text are two jobs',
    async run(t) {
      await t.push('q', t.job(1), t.job(1))
      const owner = await t.owner()
      const [first, second] = await t.fetch(owner, 'q', 2)
      expect([first?.text, second?.text]).toEqual([t.job(1), t.job(1)])
      expect(first?.ticket).not.toBe(second?.ticket)
    },
  },
  {
    name: 'a repeated push with once is stored once, also with another text or destination, or after its job has ended',
    shared: true,
    async run(t) {
      const [first, again] = [t.job(1), t.job(1, { created_at: NOW + 1000 })]
      const [second, third] = [t.job(2), t.job(3)]
      await t.store.jobs.push([{ ...toQueue('q', first), once: '1' }], NOW)
      const repeated: PushItem[] = [
        { ...toQueue('q', again), once: '1' },
        { ...toQueue('q', second), once: '2' },
        { ...toQueue('q', second), once: '2' },
        { to: 'schedule', text: third, score: 2e9, once: '3' },
      ]
      const other = await t.another()
      await other.jobs.push(repeated, NOW + 1000)
      await other.jobs.push([{ to: 'schedule', text: again, score: 2e9, once: '1' }], NOW + 2000)
      await other.jobs.push([{ ...toQueue('p', third), once: '3' }, toQueue('q', second)], NOW + 2000)
      expect(await t.waiting('q')).toEqual([first, second, second])
      expect(await t.waiting('p')).toEqual([])
      expect(await t.store.jobSets.page('schedule', { limit: 9 })).toEqual([{ text: third, score: 2e9 }])
      const owner = await t.owner()
      const taken = await t.fetch(owner, 'q', 9)
      await t.settleAndFetch(owner, { settlements: taken.map((one) => done(one)) })
      await t.store.jobs.push([...repeated, { ...toQueue('q', first), once: '1' }], NOW + 299_000)
      expect(await t.waiting('q')).toEqual([])
      expect(await t.store.metrics.totals()).toMatchObject({ enqueued: 0, scheduled: 1, processed: 3 })
    },
  },
  {
    name: 'a push of nothing stores nothing',
    async run(t) {
      await t.store.jobs.push([], NOW)
      expect(await t.store.metrics.totals()).toMatchObject({ enqueued: 0, scheduled: 0 })
    },
  },
  {
    name: 'queue names of any form are different queues',
    async run(t) {
      const names = ['q', 'Q', 'q ', 'q:1', 'fronta č. 1', "q'", 'q%', 'q_']
      for (const name of names) await t.push(name, t.job(name))
      for (const name of names) expect(await t.waiting(name)).toEqual([t.job(name)])
      const infos = await t.store.jobs.queues()
      expect(infos.map(({ name }) => name).sort()).toEqual([...names].sort())
    },
  },
  {
    name: 'pushes made at the same time all arrive, each in its own order',
    async run(t) {
      const writers = [0, 1, 2, 3]
      await Promise.all(
        writers.map(async (writer) => {
          for (let i = 0; i < 10; i++) await t.push('q', t.job(`${writer}/${i}`))
        }),
      )
      const waiting = await t.waiting('q')
      expect(waiting).toHaveLength(40)
      for (const writer of writers) {
        const own = Array.from({ length: 10 }, (_, i) => t.job(`${writer}/${i}`))
        expect(waiting.filter((text) => own.includes(text))).toEqual(own)
      }
    },
  },
  {
    name: 'another connection fetches a pushed job',
    shared: true,
    async run(t) {
      const other = await t.another()
      await Promise.all([
        t.push('q', t.job(1), t.job(2)),
        other.jobs.push([toQueue('p', t.job(3)), { to: 'schedule', text: t.job(4), score: NOW / 1000 }], NOW),
      ])
      expect(await other.jobs.peek('q', 0, 9)).toEqual([t.job(1), t.job(2)])
      expect(await t.waiting('p')).toEqual([t.job(3)])
      expect(await t.store.jobSets.size('schedule')).toBe(1)
    },
  },
  {
    name: 'two connections that open an empty store at once both work',
    shared: true,
    async run(t) {
      const stores = [t.store, await t.another(), await t.another()]
      await Promise.all(stores.map((store) => store.open()))
      await Promise.all(stores.map((store) => store.open()))
      await Promise.all(stores.map((store, n) => store.jobs.push([toQueue('q', t.job(n))], NOW)))
      expect((await t.waiting('q')).sort()).toEqual([t.job(0), t.job(1), t.job(2)])
    },
  },
  {
    name: 'pushed jobs are there after the store was closed and opened again',
    shared: true,
    async run(t) {
      const other = await t.another()
      await other.jobs.push([toQueue('q', t.job(1))], NOW)
      await other.close()
      const third = await t.another()
      expect(await third.jobs.peek('q', 0, 9)).toEqual([t.job(1)])
    },
  },
  {
    name: 'a read that is under way when the store closes answers, or rejects with STORE_CLOSED',
    async run(t) {
      await t.push('q', t.job(1))
      const reads = Promise.allSettled([t.store.jobs.peek('q', 0, 9), t.store.metrics.totals()])
      await t.store.close()
      for (const one of await reads) {
        if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'STORE_CLOSED' })
      }
    },
  },
  {
    name: 'a store may be closed again while it closes, and answers the pushes that were made before',
    async run(t) {
      const pushes = Promise.allSettled(
        [toQueue('default', 'a'), toQueue('default', 'b')].map((one) => t.store.jobs.push([one], NOW)),
      )
      await Promise.all([t.store.close(), t.store.close()])
      for (const push of await pushes) {
        if (push.status === 'rejected') expect(push.reason).toMatchObject({ name: 'PushError' })
      }
    },
  },
  {
    name: 'a closed store refuses every operation with STORE_CLOSED, and may be closed twice',
    async run(t) {
      await t.push('q', t.job(1))
      await t.store.close()
      const refused = { code: 'STORE_CLOSED' }
      // A push is refused with a PushError that says that nothing was pushed.
      await expect(t.store.jobs.push([toQueue('q', t.job(2))], NOW)).rejects.toMatchObject({ maybePushed: false })
      await expect(t.store.metrics.totals()).rejects.toMatchObject(refused)
      await expect(t.settleAndFetch('an owner', {})).rejects.toMatchObject(refused)
      const { signal } = new AbortController()
      await expect(t.store.workers.waitForJobs('an owner', ['q'], 1, 500, signal)).rejects.toMatchObject(refused)
      await expect(t.store.ordered.wait('an owner', ['o'], 500, signal)).rejects.toMatchObject(refused)
      await expect(t.store.open()).rejects.toMatchObject(refused)
      await t.store.close()
    },
  },
]
