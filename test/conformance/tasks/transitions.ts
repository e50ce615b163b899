import { expect } from 'vitest'
import type { FetchedJob } from '#dist/store/contract.js'
import { type Case, NOW, sure, toQueue } from '../bench.ts'
import {
  begin,
  change,
  counts,
  deliver,
  eventOf,
  expectExact,
  finish,
  moveToDead,
  PRODUCER,
  payloadOf,
  record,
  rows,
  spec,
  taskWith,
  work,
} from './tracked.ts'

const SECOND = 1000

/** Events change with their jobs, by (run, attempt): counts are exact at every instant. */
export const taskTransitions: Case[] = [
  {
    name: 'a row has the times of its start and its end',
    async run(t) {
      const task = await taskWith(t, 1, 1)
      const owner = await t.owner()
      const [taken] = await t.fetch(owner, 'q')
      const begun = NOW + 2 * SECOND
      const answer = await t.settleAndFetch(owner, { now: begun, started: [begin(taken, { at: begun })] })
      expect(answer.started).toEqual(['ok'])
      expect(await eventOf(t, task, 0)).toMatchObject({
        status: 'working',
        attempts: 1,
        startedAt: NOW + 2 * SECOND,
        finishedAt: null,
      })
      expect(await expectExact(t, task)).toMatchObject({ counts: counts({ working: 1 }), progressAt: NOW + 2 * SECOND })

      const settlements = [finish(taken, { at: NOW + 4 * SECOND, result: '{"id":1.0}' })]
      await t.settleAndFetch(owner, { now: NOW + 4 * SECOND, settlements })
      expect(await eventOf(t, task, 0)).toMatchObject({
        status: 'finished',
        attempts: 1,
        startedAt: NOW + 2 * SECOND,
        finishedAt: NOW + 4 * SECOND,
        result: '{"id":1.0}',
      })
      expect(await expectExact(t, task)).toMatchObject({ progressAt: NOW + 4 * SECOND, state: 'done' })
      expect((await record(t, task)).finishedAt).toBeTypeOf('number')
    },
  },
  {
    name: 'a row whose end arrives before its start has both times',
    async run(t) {
      const task = await taskWith(t, 1, 1)
      const owner = await t.owner()
      const [taken] = await t.fetch(owner, 'q')
      await t.settleAndFetch(owner, { settlements: [finish(taken, { startedAt: NOW + SECOND, at: NOW + 3 * SECOND })] })
      expect(await eventOf(t, task, 0)).toMatchObject({
        attempts: 1,
        startedAt: NOW + SECOND,
        finishedAt: NOW + 3 * SECOND,
      })
    },
  },
  {
    name: 'start and end in one call are applied in this order',
    async run(t) {
      const task = await taskWith(t, 1, 1)
      const owner = await t.owner()
      const [taken] = await t.fetch(owner, 'q')
      const answer = await t.settleAndFetch(owner, { started: [begin(taken)], settlements: [finish(taken)] })
      expect(answer).toMatchObject({ started: ['ok'], settled: ['ok'] })
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', counts: counts({ finished: 1 }) })
    },
  },
  {
    name: 'rows that end alike in one call have the same outcome as alone',
    async run(t) {
      for (const [i, keepArgs] of (['all', 'rejected', 'none'] as const).entries()) {
        const task = spec(i + 1, { queue: `q${i}`, window: 8, keepArgs })
        await t.store.tasks.create(task)
        const plain = rows(0, 12)
        const withSource = plain.map((row, n) => ({ ...row, number: n + 2, source: '{"id":1.0}' }))
        await t.store.tasks.addRows(task.id, PRODUCER, 0, [...withSource.slice(0, 6), ...plain.slice(6)], NOW)
        await t.store.tasks.endAdding(task.id, PRODUCER, NOW)
        const owner = await t.owner({ queues: [task.queue] })
        const first = await t.fetch(owner, task.queue, 8)
        const [, begun, postponed, failed, , copied] = first
        if (!begun || !postponed || !failed || !copied) throw new Error('no rows came')
        await t.store.jobs.push([toQueue(task.queue, copied.text)], NOW)
        const [copy] = await t.fetch(owner, task.queue)
        await t.settleAndFetch(owner, { now: NOW + SECOND, started: [begin(begun, { at: NOW + SECOND })] })
        // Another attempt has begun elsewhere, and a row that was rejected has its code.
        await deliver(t, change(postponed, { attempt: 2, status: 'working', window: 'keep' }))
        await deliver(t, change(failed, { attempt: 1, status: 'failed', code: 'no', window: 'keep' }))

        const ends = [...first, copy, first[7]].map((one) => finish(one as FetchedJob, { at: NOW + 3 * SECOND }))
        const { settled } = await t.settleAndFetch(owner, { now: NOW + 3 * SECOND, settlements: ends })
        expect(settled).toEqual([...Array(9).fill('ok'), 'fenced'])
        const found = await expectExact(t, task)
        expect(found).toMatchObject({
          counts: counts({ finished: 7, working: 1, enqueued: 4 }),
          inWindow: 5,
          backlog: 0,
        })
        expect(await eventOf(t, task, 1)).toMatchObject({ startedAt: NOW + SECOND, finishedAt: NOW + 3 * SECOND })
        expect(await eventOf(t, task, 2)).toMatchObject({ status: 'working', attempts: 2 })
        expect(await eventOf(t, task, 3)).toMatchObject({ status: 'finished', code: null })
        const kept = keepArgs === 'all'
        expect(await eventOf(t, task, 0)).toMatchObject({
          args: kept ? '[0]' : null,
          source: kept ? '{"id":1.0}' : null,
          number: 2,
          startedAt: null,
        })
        expect(await eventOf(t, task, 6)).toMatchObject({ args: kept ? '[6]' : null, source: null, number: null })

        // Asked again, as after a lost answer, it changes nothing; and the rest comes to its end.
        expect((await t.settleAndFetch(owner, { settlements: ends })).settled).toEqual(Array(10).fill('fenced'))
        expect(await expectExact(t, task)).toEqual(found)
        await work(t, owner, { queue: task.queue })
        await deliver(t, change(postponed, { attempt: 2 }))
        expect(await expectExact(t, task)).toMatchObject({
          state: 'done',
          counts: counts({ finished: 12 }),
          inWindow: 0,
        })
      }
    },
  },
  {
    name: 'many rows start and end in one call, each with its own times and result',
    async run(t) {
      const task = await taskWith(t, 1, 300, { window: 300 })
      const owner = await t.owner()
      const taken = await t.fetch(owner, 'q', 300)
      const some = taken.filter((_, i) => i % 3 === 0 || i > 200)
      const at = (one: FetchedJob) => NOW + (payloadOf(one).args[0] as number) * SECOND
      const begun = await t.settleAndFetch(owner, { started: some.map((one) => begin(one, { at: at(one) })) })
      expect(begun.started).toEqual(some.map(() => 'ok'))
      // One more time, as after a lost answer, together with one that was not told.
      const [repeated, untold] = [taken[3], taken[4]].map((one) => begin(sure(one), { at: at(sure(one)) }))
      expect((await t.settleAndFetch(owner, { started: [sure(repeated), sure(untold)] })).started).toEqual(['ok', 'ok'])
      const working = some.length + 1
      const some2 = counts({ working, enqueued: 300 - working })
      expect(await expectExact(t, task)).toMatchObject({ counts: some2, inWindow: 300 })

      const ends = taken.filter((_, i) => i < 60 || i % 100 === 99)
      const settlements = ends.map((one, i) => {
        const index = payloadOf(one).args[0] as number
        const times = some.includes(one) || index === 4 ? {} : { startedAt: at(one) }
        return finish(one, { at: at(one) + SECOND, ...times, ...(i % 2 ? { result: `"ř${index}\\u0000\\""` } : {}) })
      })
      expect((await t.settleAndFetch(owner, { settlements })).settled).toEqual(ends.map(() => 'ok'))
      for (const [i, one] of ends.entries()) {
        const index = payloadOf(one).args[0] as number
        expect(await eventOf(t, task, index)).toMatchObject({
          status: 'finished',
          attempts: 1,
          startedAt: at(one),
          finishedAt: at(one) + SECOND,
          result: i % 2 ? `"ř${index}\\u0000\\""` : null,
        })
      }
      expect(await expectExact(t, task)).toMatchObject({ inWindow: 300 - ends.length, progressAt: NOW })
      expect(await eventOf(t, task, 61)).toMatchObject({ status: 'enqueued', location: 'window', finishedAt: null })
      expect(await eventOf(t, task, 63)).toMatchObject({ status: 'working', startedAt: NOW + 63 * SECOND })
    },
  },
  {
    name: 'every kind of end is counted, with its code and messages',
    async run(t) {
      const task = await taskWith(t, 1, 4, { window: 4 })
      const owner = await t.owner()
      const taken = await t.fetch(owner, 'q', 4)
      const messages = [{ at: NOW, code: 'refused', params: { field: 'cena', limits: [1, 2.5] } }]
      const ends = [
        { status: 'finished' as const },
        { status: 'failed' as const, code: 'bad_price', messages },
        { status: 'error' as const, code: 'TypeError', messages },
        { status: 'cancelled' as const, code: 'discarded' },
      ]
      await t.settleAndFetch(owner, { settlements: taken.map((one, i) => finish(one, ends[i])) })
      const events = await t.store.tasks.events(task.id, { limit: 10 })
      expect(events.map(({ status, code, messages: kept }) => [status, code, kept.length])).toEqual([
        ['finished', null, 0],
        ['failed', 'bad_price', 1],
        ['error', 'TypeError', 1],
        ['cancelled', 'discarded', 0],
      ])
      expect(events[1]?.messages).toEqual(messages)
      expect(await expectExact(t, task)).toMatchObject({
        state: 'done',
        counts: counts({ finished: 1, failed: 1, error: 1, cancelled: 1 }),
      })
    },
  },
  {
    name: 'a late effect of an older attempt changes nothing',
    async run(t) {
      const task = await taskWith(t, 1, 1)
      const owner = await t.owner()
      const [taken] = await t.fetch(owner, 'q')
      await t.settleAndFetch(owner, { started: [begin(taken, { attempt: 2 })] })
      const before = await eventOf(t, task, 0)
      await deliver(t, change(taken, { attempt: 1, status: 'finished' }), sure(begin(taken, { attempt: 1 }).effects[0]))
      expect(await eventOf(t, task, 0)).toEqual(before)
      expect(await expectExact(t, task)).toMatchObject({ state: 'running', counts: counts({ working: 1 }) })

      await t.settleAndFetch(owner, { settlements: [finish(taken, { attempt: 2 })] })
      const ended = await eventOf(t, task, 0)
      for (const attempt of [1, 2]) await deliver(t, sure(begin(taken, { attempt }).effects[0]))
      await deliver(t, change(taken, { attempt: 1, status: 'error', code: 'late' }))
      expect(await eventOf(t, task, 0)).toEqual(ended)
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', counts: counts({ finished: 1 }) })
    },
  },
  {
    name: 'runs are compared before attempts',
    async run(t) {
      const task = await taskWith(t, 1, 1)
      const owner = await t.owner()
      const [taken] = await t.fetch(owner, 'q')
      const { run } = await record(t, task)
      await t.settleAndFetch(owner, { settlements: [finish(taken, { attempt: 3, status: 'failed' })] })
      await deliver(t, change(taken, { run: run + 1, attempt: 1, status: 'working', window: 'keep' }))
      expect(await eventOf(t, task, 0)).toMatchObject({ status: 'working', run: run + 1 })
      await deliver(t, change(taken, { run, attempt: 9, status: 'finished' }))
      expect(await eventOf(t, task, 0)).toMatchObject({ status: 'working', run: run + 1 })
      await expectExact(t, task)
    },
  },
  {
    name: 'a settlement with a stale effect still settles its job',
    async run(t) {
      const task = await taskWith(t, 1, 2, { window: 2 })
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      await deliver(t, change(first, { attempt: 4, status: 'error', window: 'keep' }))
      expect((await t.settleAndFetch(owner, { settlements: [finish(first, { attempt: 1 })] })).settled).toEqual(['ok'])
      expect(await eventOf(t, task, 0)).toMatchObject({ status: 'error' })
      expect(await t.store.metrics.totals()).toMatchObject({ processed: 1, fetched: 0 })
      await expectExact(t, task)
    },
  },
  {
    name: 'a stale effect does not change the window: the job goes to its destination',
    async run(t) {
      const task = await taskWith(t, 1, 4, { window: 1 })
      const owner = await t.owner()
      const { run } = await record(t, task)
      const [first] = await t.fetch(owner, 'q')
      await t.settleAndFetch(owner, { settlements: [moveToDead(first, 5)] })
      await deliver(t, change(first, { run: run + 1, attempt: 1, status: 'error', window: 'keep' }))
      const before = await record(t, task)
      const event = await eventOf(t, task, 0)

      const effects = [change(first, { status: 'enqueued', window: 'enter' })]
      const swap = { text: first.text, score: 5, to: toQueue('q', first.text), effects }
      expect(await t.store.jobSets.swap('dead', [swap], NOW)).toEqual(['ok'])
      expect((await t.waiting('q')).map((text) => payloadOf({ text }).args)).toEqual([[1], [0]])
      expect(await expectExact(t, task)).toEqual(before)
      expect(await eventOf(t, task, 0)).toEqual(event)

      const [second, again] = await t.fetch(owner, 'q', 2)
      expect((await t.settleAndFetch(owner, { started: [begin(again, { attempt: 2 })] })).started).toEqual([
        'superseded',
      ])
      await t.settleAndFetch(owner, { settlements: [finish(again, { attempt: 2 })] })
      expect(await t.waiting('q')).toEqual([])
      await t.settleAndFetch(owner, { settlements: [finish(second)] })
      expect(await t.waiting('q')).toHaveLength(1)
      await expectExact(t, task)
    },
  },
  {
    name: 'an attempt older than its event is superseded at its start',
    async run(t) {
      const task = await taskWith(t, 1, 2, { window: 2 })
      const owner = await t.owner()
      const [first, second] = await t.fetch(owner, 'q', 2)
      await deliver(t, change(first, { attempt: 2, status: 'cancelled', window: 'keep' }))
      const answer = await t.settleAndFetch(owner, { started: [begin(first, { attempt: 2 }), begin(second)] })
      expect(answer.started).toEqual(['superseded', 'ok'])
      expect(await expectExact(t, task)).toMatchObject({ counts: counts({ cancelled: 1, working: 1 }) })
      const next = await t.settleAndFetch(owner, { started: [begin(first, { attempt: 3 }), begin(second)] })
      expect(next.started).toEqual(['ok', 'ok'])
    },
  },
  {
    name: 'an effect delivered twice is applied once',
    async run(t) {
      const task = await taskWith(t, 1, 6, { window: 2 })
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      const begun = begin(first)
      await t.settleAndFetch(owner, { started: [begun] })
      await t.settleAndFetch(owner, { started: [begun] })
      expect(await expectExact(t, task)).toMatchObject({ backlog: 4, counts: counts({ working: 1, enqueued: 5 }) })
      const failure = { status: 'failed' as const, code: 'no' }
      await t.settleAndFetch(owner, { settlements: [finish(first, failure)] })
      expect(await record(t, task)).toMatchObject({ backlog: 3 })
      for (let i = 0; i < 2; i++) await deliver(t, change(first, failure))
      expect(await t.waiting('q')).toHaveLength(2)
      expect(await eventOf(t, task, 0)).toMatchObject({ status: 'failed', attempts: 1 })
      expect(await expectExact(t, task)).toMatchObject({ backlog: 3, counts: counts({ failed: 1, enqueued: 5 }) })
    },
  },
  {
    name: 'a repeated effect adds its message once',
    async run(t) {
      const task = await taskWith(t, 1, 1)
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      const failure = { status: 'failed' as const, messages: [{ at: NOW, code: 'no', params: {} }] }
      await t.settleAndFetch(owner, { settlements: [finish(first, failure)] })
      await deliver(t, change(first, failure))
      expect((await eventOf(t, task, 0)).messages).toHaveLength(1)
    },
  },
  {
    name: 'a newer attempt reopens a final event: done, running, done again',
    async run(t) {
      const task = await taskWith(t, 1, 2, { window: 2 })
      const owner = await t.owner()
      const [first, second] = await t.fetch(owner, 'q', 2)
      await t.settleAndFetch(owner, { settlements: [moveToDead(first, 7), finish(second)] })
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', counts: counts({ error: 1, finished: 1 }) })
      const { run } = await record(t, task)

      const effects = [change(first, { status: 'enqueued', window: 'enter' })]
      await t.store.jobSets.swap('dead', [{ text: first.text, score: 7, to: toQueue('q', first.text), effects }], NOW)
      expect(await expectExact(t, task)).toMatchObject({
        state: 'running',
        run,
        counts: counts({ enqueued: 1, finished: 1 }),
      })
      const [again] = await t.fetch(owner, 'q')
      expect((await t.settleAndFetch(owner, { started: [begin(again, { attempt: 2 })] })).started).toEqual(['ok'])
      expect(await expectExact(t, task)).toMatchObject({ counts: counts({ working: 1, finished: 1 }) })
      await t.settleAndFetch(owner, { settlements: [finish(again, { attempt: 2 })] })
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', run, counts: counts({ finished: 2 }) })
      expect(await eventOf(t, task, 0)).toMatchObject({ status: 'finished', attempts: 2 })
    },
  },
  {
    name: 'an event that Ruby reopened without a settlement is counted, too',
    async run(t) {
      const task = await taskWith(t, 1, 2, { window: 2 })
      const owner = await t.owner()
      const [first, second] = await t.fetch(owner, 'q', 2)
      await t.settleAndFetch(owner, { settlements: [moveToDead(first, 7), finish(second)] })
      await t.store.jobSets.swap('dead', [{ text: first.text, score: 7, to: toQueue('q', first.text) }], NOW)
      expect(await record(t, task)).toMatchObject({ state: 'done' })
      const [again] = await t.fetch(owner, 'q')
      expect((await t.settleAndFetch(owner, { started: [begin(again, { attempt: 2 })] })).started).toEqual(['ok'])
      expect(await expectExact(t, task)).toMatchObject({
        state: 'running',
        counts: counts({ working: 1, finished: 1 }),
      })
      await t.settleAndFetch(owner, { settlements: [finish(again, { attempt: 2 })] })
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', counts: counts({ finished: 2 }) })
    },
  },
  {
    name: 'an event that finished at last has no old code',
    async run(t) {
      const task = await taskWith(t, 1, 1)
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      await t.settleAndFetch(owner, { settlements: [moveToDead(first, 7, { code: 'TypeError' })] })
      expect((await eventOf(t, task, 0)).code).toBe('TypeError')
      const effects = [change(first, { status: 'enqueued', window: 'enter' })]
      await t.store.jobSets.swap('dead', [{ text: first.text, score: 7, to: toQueue('q', first.text), effects }], NOW)
      const [again] = await t.fetch(owner, 'q')
      await t.settleAndFetch(owner, { settlements: [finish(again, { attempt: 2 })] })
      expect((await eventOf(t, task, 0)).code).toBe(null)
    },
  },
  {
    name: 'a task is done only after adding has ended',
    async run(t) {
      const task = await taskWith(t, 1, 1, { open: true })
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      await t.settleAndFetch(owner, { settlements: [finish(first)] })
      expect(await record(t, task)).toMatchObject({ state: 'adding', finishedAt: null })
      expect(await t.store.tasks.addRows(task.id, PRODUCER, 1, rows(1, 1), NOW)).toEqual({ ok: true, total: 2 })
      expect(await t.store.tasks.endAdding(task.id, PRODUCER, NOW + SECOND)).toEqual({ ok: true, total: 2 })
      expect(await record(t, task)).toMatchObject({ state: 'running', finishedAt: null })
      const [second] = await t.fetch(owner, 'q')
      await t.settleAndFetch(owner, { now: NOW + 2 * SECOND, settlements: [finish(second, { at: NOW + 2 * SECOND })] })
      expect(await record(t, task)).toMatchObject({ state: 'done', finishedAt: NOW + 2 * SECOND })
    },
  },
  {
    name: 'a task whose events are all final is done when adding ends, also one without rows',
    async run(t) {
      const empty = spec(1)
      await t.store.tasks.create(empty)
      expect(await t.store.tasks.endAdding(empty.id, PRODUCER, NOW + SECOND)).toEqual({ ok: true, total: 0 })
      expect(await record(t, empty)).toMatchObject({ state: 'done', finishedAt: NOW + SECOND })

      const rejected = spec(2)
      await t.store.tasks.create(rejected)
      await t.store.tasks.addRows(
        rejected.id,
        PRODUCER,
        0,
        [{ args: '[]', rejected: { status: 'failed', messages: [] } }],
        NOW,
      )
      await t.store.tasks.endAdding(rejected.id, PRODUCER, NOW + SECOND)
      expect(await record(t, rejected)).toMatchObject({ state: 'done', counts: counts({ failed: 1 }) })
    },
  },
  {
    name: 'ending adding again changes nothing',
    async run(t) {
      const task = await taskWith(t, 1, 1)
      const before = await record(t, task)
      await t.store.tasks.endAdding(task.id, PRODUCER, NOW + 9 * SECOND)
      expect(await record(t, task)).toEqual(before)
    },
  },
  {
    name: 'an effect on another row settles no fetched job, and does not change other tasks',
    async run(t) {
      const one = await taskWith(t, 1, 4, { window: 1, queue: 'q' })
      const two = await taskWith(t, 2, 4, { window: 1, queue: 'p' })
      const owner = await t.owner({ queues: ['q', 'p'] })
      const [a] = await t.fetch(owner, 'q')
      await t.settleAndFetch(owner, { settlements: [finish(a)] })
      expect(await record(t, one)).toMatchObject({ backlog: 2, counts: counts({ finished: 1, enqueued: 3 }) })
      expect(await record(t, two)).toMatchObject({ backlog: 3, counts: counts({ enqueued: 4 }) })
      expect(await t.waiting('p')).toHaveLength(1)
    },
  },
  {
    name: 'a fenced settlement has no effects',
    async run(t) {
      const task = await taskWith(t, 1, 3, { window: 1 })
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      await t.store.workers.claim(owner)
      const answer = await t.settleAndFetch(owner, { started: [begin(first)], settlements: [finish(first)] })
      expect(answer.settled).toEqual(['fenced'])
      const next = await t.owner()
      expect((await t.settleAndFetch(next, { settlements: [finish(first)] })).settled).toEqual(['fenced'])
      expect(await expectExact(t, task)).toMatchObject({
        backlog: 2,
        counts: counts({ enqueued: 3 }),
        progressAt: null,
      })
    },
  },
  {
    name: 'a claimed owner neither starts nor ends a row',
    async run(t) {
      const task = await taskWith(t, 1, 4)
      const [starting, ending] = [await t.owner(), await t.owner()]
      const [first] = await t.fetch(starting, 'q')
      const [second] = await t.fetch(ending, 'q')
      await t.settleAndFetch(ending, { started: [begin(second)] })
      const before = await expectExact(t, task)
      for (const owner of [starting, ending]) expect(await t.store.workers.claim(owner)).toBe(true)
      expect(await t.settleAndFetch(starting, { started: [begin(first)] })).toMatchObject({ started: ['superseded'] })
      expect(await t.settleAndFetch(ending, { settlements: [finish(second)] })).toMatchObject({ settled: ['fenced'] })
      expect(await expectExact(t, task)).toEqual(before)
      expect(before.counts).toEqual(counts({ enqueued: 3, working: 1 }))
    },
  },
  {
    name: 'a swap or a rescue that comes too late has no effects',
    async run(t) {
      const task = await taskWith(t, 1, 2, { window: 1 })
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      const effects = [change(first, { status: 'error' })]
      const swap = { text: first.text, score: 1, to: null, effects }
      expect(await t.store.jobSets.swap('retry', [swap], NOW)).toEqual(['gone'])
      const restore = { owner, queue: 'q', ticket: first.ticket, to: toQueue('q', first.text), effects }
      expect(await t.store.workers.rescue([restore], NOW)).toEqual(['gone'])
      expect(await expectExact(t, task)).toMatchObject({ backlog: 1, counts: counts({ enqueued: 2 }) })
    },
  },
]
