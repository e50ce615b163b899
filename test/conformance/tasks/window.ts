import { expect } from 'vitest'
import type { FetchedJob, Store } from '#dist/store/contract.js'
import { type Case, NOW, pause, release, textsOf, toQueue, until } from '../bench.ts'
import {
  begin,
  change,
  counts,
  eventOf,
  expectExact,
  finish,
  jidOf,
  moveToDead,
  PRODUCER,
  payloadOf,
  postpone,
  record,
  rows,
  spec,
  taskWith,
} from './tracked.ts'

const SECOND = 1000

/** At most a window of rows is in the queue and with owners; the others wait inside the task. */
export const taskWindow: Case[] = [
  {
    name: 'a row that ends lets the next one into the window in the same step',
    async run(t) {
      const task = await taskWith(t, 1, 4, { window: 1 })
      const owner = await t.owner()
      let [taken] = await t.fetch(owner, 'q', 10)
      for (const index of [0, 1, 2, 3]) {
        expect(payloadOf(taken).args).toEqual([index])
        const answer = await t.settleAndFetch(owner, {
          now: NOW + index * SECOND,
          settlements: [finish(taken)],
          fetch: { queues: ['q'], n: 10 },
        })
        expect(answer.settled).toEqual(['ok'])
        expect(answer.fetched.length).toBe(index < 3 ? 1 : 0)
        if (index < 3) expect(payloadOf(answer.fetched[0]).enqueued_at).toBe(NOW + index * SECOND)
        taken = answer.fetched[0]
      }
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', counts: counts({ finished: 4 }) })
    },
  },
  {
    name: 'at most a window of rows is queued or running',
    async run(t) {
      const task = await taskWith(t, 1, 20, { window: 4 })
      const owner = await t.owner()
      const held = await t.fetch(owner, 'q', 3)
      expect(await t.waiting('q')).toHaveLength(1)
      await t.settleAndFetch(owner, { settlements: [finish(held[0]), finish(held[1])] })
      expect(await t.waiting('q')).toHaveLength(3)
      held.push(...(await t.fetch(owner, 'q', 10)))
      expect(held).toHaveLength(6)
      expect(await t.waiting('q')).toEqual([])
      expect(await record(t, task)).toMatchObject({ backlog: 14, counts: counts({ finished: 2, enqueued: 18 }) })
    },
  },
  {
    name: 'two tasks alternate: a small one is done long before a large one that was created first',
    async run(t) {
      const big = await taskWith(t, 1, 40, { window: 2 })
      const small = await taskWith(t, 2, 3, { window: 2 })
      const owner = await t.owner()
      const seen: string[] = []
      let taken = await t.fetch(owner, 'q')
      while (taken.length > 0) {
        seen.push(payloadOf(taken[0]).jid)
        taken = (await t.settleAndFetch(owner, { settlements: [finish(taken[0])], fetch: { queues: ['q'], n: 1 } }))
          .fetched
      }
      expect(seen.slice(0, 8)).toEqual([
        jidOf(big.id, 0),
        jidOf(big.id, 1),
        jidOf(small.id, 0),
        jidOf(small.id, 1),
        jidOf(big.id, 2),
        jidOf(big.id, 3),
        jidOf(small.id, 2),
        jidOf(big.id, 4),
      ])
      expect(seen).toHaveLength(43)
      expect(await record(t, small)).toMatchObject({ state: 'done' })
      expect(await record(t, big)).toMatchObject({ state: 'done' })
    },
  },
  {
    name: 'a row that waits for a retry frees its slot, and returns to the queue when there is room',
    async run(t) {
      const task = await taskWith(t, 1, 2, { window: 1 })
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      const answer = await t.settleAndFetch(owner, {
        settlements: [postpone(first, 5)],
        fetch: { queues: ['q'], n: 5 },
      })
      expect(answer.fetched.map((one) => payloadOf(one).args)).toEqual([[1]])
      await t.settleAndFetch(owner, { settlements: [finish(answer.fetched[0])] })
      expect(await record(t, task)).toMatchObject({ state: 'running', counts: counts({ finished: 1, enqueued: 1 }) })

      const text = `${first.text} `
      const effects = [change(first, { status: 'enqueued', window: 'enter' })]
      expect(
        await t.store.jobSets.swap('retry', [{ text: first.text, score: 5, to: toQueue('q', text), effects }], NOW),
      ).toEqual(['ok'])
      expect(await t.waiting('q')).toEqual([text])
      expect(await expectExact(t, task)).toMatchObject({ backlog: 0 })
      const [again] = await t.fetch(owner, 'q')
      await t.settleAndFetch(owner, { settlements: [finish(again, { attempt: 2 })] })
      expect(await record(t, task)).toMatchObject({ state: 'done', counts: counts({ finished: 2 }) })
    },
  },
  {
    name: 'a row that returns while the window is full waits at the front of the backlog, with its text',
    async run(t) {
      const task = await taskWith(t, 1, 5, { window: 2 })
      const owner = await t.owner()
      const [first, second] = await t.fetch(owner, 'q', 2)
      await t.settleAndFetch(owner, { settlements: [postpone(first, 5)] })
      const text = first.text.replace('{', '{"retry_count":0,')
      const effects = [change(first, { status: 'enqueued', window: 'enter' })]
      expect(
        await t.store.jobSets.swap('retry', [{ text: first.text, score: 5, to: toQueue('q', text), effects }], NOW),
      ).toEqual(['ok'])
      expect(await t.store.jobSets.size('retry')).toBe(0)
      expect((await t.waiting('q')).map((one) => payloadOf({ text: one }).args)).toEqual([[2]])
      expect(await expectExact(t, task)).toMatchObject({ backlog: 3, counts: counts({ enqueued: 5 }) })
      expect(await t.store.metrics.totals()).toMatchObject({ enqueued: 1, backlog: 3 })

      await t.settleAndFetch(owner, { settlements: [finish(second)] })
      const waiting = await t.waiting('q')
      expect(waiting).toHaveLength(2)
      expect(waiting[1]).toBe(text)
      expect(await record(t, task)).toMatchObject({ backlog: 2 })
      const held = await t.fetch(owner, 'q', 2)
      await t.settleAndFetch(owner, {
        settlements: held.map((one) => finish(one, { attempt: one.text === text ? 2 : 1 })),
      })
      expect((await t.waiting('q')).map((one) => payloadOf({ text: one }).args)).toEqual([[3], [4]])
    },
  },
  {
    name: 'a released job keeps its slot in the window',
    async run(t) {
      const task = await taskWith(t, 1, 4, { window: 2 })
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      await t.settleAndFetch(owner, { settlements: [release(first)] })
      expect(await t.waiting('q')).toHaveLength(2)
      const [again] = await t.fetch(owner, 'q')
      expect(again.text).toBe(first.text)
      const kept = change(again, { status: 'enqueued', window: 'keep' })
      await t.settleAndFetch(owner, { started: [begin(again)], settlements: [release(again, { effects: [kept] })] })
      expect(await t.waiting('q')).toHaveLength(2)
      expect(await expectExact(t, task)).toMatchObject({ backlog: 2, counts: counts({ enqueued: 4 }) })
    },
  },
  {
    name: 'a rescued job keeps its slot in the window, and its event is enqueued again',
    async run(t) {
      const task = await taskWith(t, 1, 4, { window: 2 })
      const owner = await t.owner()
      const [first, second] = await t.fetch(owner, 'q', 2)
      await t.settleAndFetch(owner, { started: [begin(first)] })
      await t.store.workers.claim(owner)
      const items = await t.store.workers.orphaned(10)
      expect(textsOf(items)).toEqual([second.text, first.text])
      const answers = await t.store.workers.rescue(
        items.map((item) => ({
          owner: item.owner,
          queue: item.queue,
          ticket: item.ticket,
          to: toQueue('q', item.text, 'front'),
          effects: [change(item, { status: 'enqueued', window: 'keep' })],
        })),
        NOW,
      )
      expect(answers).toEqual(['ok', 'ok'])
      expect(await t.waiting('q')).toEqual([first.text, second.text])
      expect(await expectExact(t, task)).toMatchObject({ backlog: 2, counts: counts({ enqueued: 4 }) })
      const next = await t.owner()
      const held = await t.fetch(next, 'q', 5)
      expect(held).toHaveLength(2)
      await t.settleAndFetch(next, { settlements: held.map((one) => finish(one, { attempt: 2 })) })
      expect(await t.waiting('q')).toHaveLength(2)
    },
  },
  {
    name: 'a row that is killed or deleted while it waits for a retry frees no second slot',
    async run(t) {
      const task = await taskWith(t, 1, 8, { window: 2 })
      const owner = await t.owner()
      const [first, second] = await t.fetch(owner, 'q', 2)
      await t.settleAndFetch(owner, { settlements: [postpone(first, 5), postpone(second, 6)] })
      expect(await record(t, task)).toMatchObject({ backlog: 4, counts: counts({ enqueued: 8 }) })
      const kill = {
        text: first.text,
        score: 5,
        to: { to: 'dead' as const, text: first.text, score: 9 },
        effects: [change(first, { status: 'error' })],
      }
      const drop = { text: second.text, score: 6, to: null, effects: [change(second, { status: 'cancelled' })] }
      expect(await t.store.jobSets.swap('retry', [kill, drop], NOW)).toEqual(['ok', 'ok'])
      expect(await t.waiting('q')).toHaveLength(2)
      expect(await expectExact(t, task)).toMatchObject({
        backlog: 4,
        counts: counts({ error: 1, cancelled: 1, enqueued: 6 }),
      })
    },
  },
  {
    name: 'a row without a slot (Ruby retried it) frees none when it ends',
    async run(t) {
      const task = await taskWith(t, 1, 8, { window: 2 })
      const owner = await t.owner()
      const [first, second] = await t.fetch(owner, 'q', 2)
      await t.settleAndFetch(owner, { settlements: [moveToDead(first, 5)] })
      await t.store.jobSets.swap('dead', [{ text: first.text, score: 5, to: toQueue('q', first.text, 'front') }], NOW)
      const [again] = await t.fetch(owner, 'q')
      expect(again.text).toBe(first.text)
      await t.settleAndFetch(owner, { settlements: [finish(again, { attempt: 2 })] })
      expect(await t.waiting('q')).toHaveLength(1)
      expect(await expectExact(t, task)).toMatchObject({ backlog: 5, counts: counts({ finished: 1, enqueued: 7 }) })
      await t.settleAndFetch(owner, { settlements: [finish(second)] })
      expect(await t.waiting('q')).toHaveLength(2)
    },
  },
  {
    name: 'a row of a new run enters the window, or waits in front of the others',
    async run(t) {
      const task = await taskWith(t, 1, 4, { window: 1 })
      const owner = await t.owner()
      const { run } = await record(t, task)
      const [first] = await t.fetch(owner, 'q')
      await t.settleAndFetch(owner, { settlements: [finish(first, { status: 'failed' })] })
      const text = first.text.replace(/"hk_run":\d+/, `"hk_run":${run + 1}`)
      const effects = [change({ text }, { attempt: 0, status: 'enqueued', window: 'enter' })]
      await t.store.jobs.push([{ ...toQueue('q', text), effects }], NOW)
      expect((await t.waiting('q')).map((one) => payloadOf({ text: one }).args)).toEqual([[1]])
      expect(await expectExact(t, task)).toMatchObject({ backlog: 3, counts: counts({ enqueued: 4 }) })
      expect(await eventOf(t, task, 0)).toMatchObject({ status: 'enqueued', run: run + 1 })

      const [second] = await t.fetch(owner, 'q')
      const { fetched: taken } = await t.settleAndFetch(owner, {
        settlements: [finish(second)],
        fetch: { queues: ['q'], n: 5 },
      })
      expect(textsOf(taken)).toEqual([text])
      const [again] = taken
      expect((await t.settleAndFetch(owner, { started: [begin(again)] })).started).toEqual(['ok'])
      await t.settleAndFetch(owner, { settlements: [finish(again)] })
      expect(await eventOf(t, task, 0)).toMatchObject({ status: 'finished', run: run + 1, attempts: 1 })
      await expectExact(t, task)
    },
  },
  {
    name: 'workers on two connections and a producer at the same time keep the window and the counts',
    shared: true,
    async run(t) {
      const task = spec(1, { window: 4 })
      await t.store.tasks.create(task)
      const other = await t.another()
      let working = true
      const seen: string[] = []
      const work = async (store: Store) => {
        const owner = await t.owner({ store })
        let taken: FetchedJob[] = []
        while (working || taken.length > 0) {
          const settlements = taken.map((one) => finish(one))
          const answer = await t.settleAndFetch(owner, { settlements, fetch: { queues: ['q'], n: 3 } }, store)
          expect(answer.settled).toEqual(settlements.map(() => 'ok'))
          taken = answer.fetched
          seen.push(...taken.map((one) => payloadOf(one).jid))
          if (taken.length === 0) await pause(1)
        }
      }
      const submit = async () => {
        for (let from = 0; from < 60; from += 6) {
          await other.tasks.addRows(task.id, PRODUCER, from, rows(from, 6), NOW)
          const { fetched: taken, enqueued } = await other.metrics.totals()
          expect(taken + enqueued).toBeLessThanOrEqual(4)
        }
        await other.tasks.endAdding(task.id, PRODUCER, NOW)
        await until('the task is done', async () => (await record(t, task)).state === 'done')
        working = false
      }
      await Promise.all([work(t.store), work(other), submit()])
      expect(seen.sort()).toEqual(Array.from({ length: 60 }, (_, i) => jidOf(task.id, i)))
      expect(await expectExact(t, task)).toMatchObject({ backlog: 0, counts: counts({ finished: 60 }) })
    },
  },
]
