import { expect } from 'vitest'
import type { FetchedJob } from '#dist/store/contract.js'
import { type Case, NOW, sure, toQueue, until } from '../bench.ts'
import {
  begin,
  change,
  counts,
  deliver,
  eventOf,
  expectExact,
  finish,
  idleTasks,
  jidOf,
  moveToDead,
  postpone,
  record,
  single,
  taskId,
  taskWith,
  work,
} from './tracked.ts'

const SECOND = 1000

/** Tracked jobs by themselves, what a task makes, and values that are kept for a while. */
export const taskKeeping: Case[] = [
  {
    name: 'a single tracked job is pushed with its record, which tasks.list does not show',
    async run(t) {
      const { task, text, item } = single(1)
      await t.store.tasks.pushTracked([{ task, item }], NOW)
      expect(await t.waiting('q')).toEqual([text])
      expect(await t.store.tasks.page({ limit: 9 })).toEqual([])
      expect(await expectExact(t, task)).toMatchObject({
        single: true,
        state: 'running',
        adding: false,
        total: 1,
        backlog: 0,
        inWindow: 1,
        counts: counts({ enqueued: 1 }),
        finishedAt: null,
      })
      expect(await eventOf(t, task, 0)).toMatchObject({
        jid: jidOf(task.id, 0),
        location: 'window',
        status: 'enqueued',
        run: 1,
        attempts: 0,
        args: '[1.0, "č"]',
      })
      const owner = await t.owner()
      const [taken] = await t.fetch(owner, 'q')
      expect((await t.settleAndFetch(owner, { started: [begin(taken)] })).started).toEqual(['ok'])
      await t.settleAndFetch(owner, { settlements: [finish(taken, { result: '{"a":1.0}' })] })
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', inWindow: 0, counts: counts({ finished: 1 }) })
      expect(await eventOf(t, task, 0)).toMatchObject({ result: '{"a":1.0}' })
    },
  },
  {
    name: 'tracked jobs are pushed many at once, and a repeat pushes none again',
    async run(t) {
      const items = Array.from({ length: 300 }, (_, i) => single(i + 1, `[${i}]`))
      for (let again = 0; again < 2; again++) {
        await t.store.tasks.pushTracked(items, NOW)
        expect(await t.waiting('q')).toEqual(items.map(({ text }) => text))
      }
      const owner = await t.owner()
      await work(t, owner)
      await t.store.tasks.pushTracked(items, NOW)
      expect(await t.waiting('q')).toEqual([])
      for (const i of [0, 150, 299]) expect(await record(t, sure(items[i]).task)).toMatchObject({ state: 'done' })
    },
  },
  {
    name: 'a scheduled tracked job has no slot until it is due, and is retried like any other',
    async run(t) {
      const { task, text } = single(1)
      await t.store.tasks.pushTracked([{ task, item: { to: 'schedule', text, score: 5 } }], NOW)
      expect(await t.store.jobSets.page('schedule', { limit: 9 })).toEqual([{ text, score: 5 }])
      expect(await expectExact(t, task)).toMatchObject({ inWindow: 0, backlog: 0, counts: counts({ enqueued: 1 }) })
      expect(await eventOf(t, task, 0)).toMatchObject({ location: 'elsewhere' })
      const due = (set: 'schedule' | 'retry', score: number) => {
        const effects = [change({ text }, { attempt: set === 'retry' ? 1 : 0, status: 'enqueued', window: 'enter' })]
        return t.store.jobSets.swap(set, [{ text, score, to: toQueue('q', text), effects }], NOW)
      }
      expect(await due('schedule', 5)).toEqual(['ok'])
      expect(await expectExact(t, task)).toMatchObject({ inWindow: 1 })
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      await t.settleAndFetch(owner, { settlements: [postpone(first, 9)] })
      expect(await due('retry', 9)).toEqual(['ok'])
      const [again] = await t.fetch(owner, 'q')
      await t.settleAndFetch(owner, { settlements: [moveToDead(again, 7, { attempt: 2, code: 'TypeError' })] })
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', counts: counts({ error: 1 }) })
      expect(await eventOf(t, task, 0)).toMatchObject({ attempts: 2, code: 'TypeError' })
    },
  },
  {
    name: 'a tracked job runs again in another run with its old arguments',
    async run(t) {
      const { task, item } = single(1)
      await t.store.tasks.pushTracked([{ task, item }], NOW)
      const owner = await t.owner()
      await work(t, owner, { status: 'failed' })
      const producer = await t.owner()
      expect(await t.store.tasks.startRun(task.id, 1, producer, NOW)).toBe('ok')
      expect(await t.store.tasks.retryRows(task.id, 2, [{ index: 0 }], NOW)).toEqual(['ok'])
      await t.store.tasks.endAdding(task.id, producer, NOW)
      const [text = ''] = await t.waiting('q')
      expect(text).toContain('"args":[1.0, "č"],')
      await work(t, owner)
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', run: 2, counts: counts({ finished: 1 }) })
    },
  },
  {
    name: 'a tracked job is cancelled, found idle, over and deleted like a task',
    async run(t) {
      const { task, item } = single(1)
      await t.store.tasks.pushTracked([{ task: { ...task, keep: SECOND }, item }], NOW)
      expect((await idleTasks(t, NOW + SECOND)).map(({ id }) => id)).toEqual([task.id])
      expect(await t.store.tasks.cancel(task.id, null, NOW)).toBe('ok')
      expect(await t.store.tasks.cancelRows(task.id, 9, NOW)).toEqual({
        cancelled: 1,
        maybeRunning: expect.any(Array),
        done: true,
      })
      expect(await expectExact(t, task)).toMatchObject({ state: 'cancelled', inWindow: 0 })
      expect(await t.store.tasks.expired(NOW + 2 * SECOND, 9)).toEqual([task.id])
      while (!(await t.store.tasks.delete(task.id, 9)));
      expect(await t.store.tasks.find(task.id)).toBe(null)
    },
  },
  {
    name: 'late effects on a deleted tracked job do nothing',
    async run(t) {
      const { task, item, text } = single(1)
      await t.store.tasks.pushTracked([{ task, item }], NOW)
      while (!(await t.store.tasks.delete(task.id, 9)));
      await deliver(t, change({ text }))
      expect(await t.store.tasks.find(task.id)).toBe(null)
    },
  },
  {
    name: 'parts of a task are kept byte for byte, each under its index, the last one counts',
    async run(t) {
      const task = await taskWith(t, 1, 1)
      const all = Uint8Array.from({ length: 512 }, (_, i) => i % 256)
      const large = new Uint8Array(700_000).fill(7)
      expect(await t.store.tasks.part(task.id, 0)).toBe(null)
      expect(await t.store.tasks.putPart(task.id, 0, all, 1e6)).toBe('ok')
      expect(await t.store.tasks.putPart(task.id, 7, large, 1e6)).toBe('ok')
      expect(await t.store.tasks.putPart(task.id, 3, new Uint8Array(0), 1e6)).toBe('ok')
      expect(await t.store.tasks.part(task.id, 0)).toEqual(all)
      expect((await t.store.tasks.part(task.id, 7))?.length).toBe(700_000)
      expect(await t.store.tasks.part(task.id, 3)).toEqual(new Uint8Array(0))
      expect(await t.store.tasks.part(task.id, 1)).toBe(null)
      expect(await t.store.tasks.part(taskId(9), 0)).toBe(null)
      expect(await t.store.tasks.putPart(taskId(9), 0, all, 1e6)).toBe('unknown')
      expect(await t.store.tasks.putPart(task.id, 0, all.slice(5), 1e6)).toBe('ok')
      expect(await t.store.tasks.part(task.id, 0)).toEqual(all.slice(5))
      await expectExact(t, task)
    },
  },
  {
    name: 'a part is stored for the current or next attempt of its row, and for no other',
    async run(t) {
      const task = await taskWith(t, 1, 2)
      const put = (attempt: number, run = 1, index = 0) =>
        t.store.tasks.putPart(task.id, index, new Uint8Array([run, attempt]), 100, { run, attempt })
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      // That it has begun may be told with its end.
      expect(await put(1)).toBe('ok')
      expect([await put(2), await put(0), await put(1, 2), await put(1, 0)]).toEqual(Array(4).fill('stale'))
      await t.settleAndFetch(owner, { started: [begin(first)] })
      expect([await put(1), await put(2), await put(1, 2)]).toEqual(['ok', 'stale', 'stale'])
      await t.settleAndFetch(owner, { settlements: [postpone(first, 5)] })
      expect([await put(1), await put(3), await put(2)]).toEqual(['stale', 'stale', 'ok'])
      await deliver(t, change(first, { attempt: 2, status: 'working', window: 'keep' }))
      expect([await put(1), await put(2)]).toEqual(['stale', 'ok'])
      await deliver(t, change(first, { attempt: 2, window: 'keep' }))
      expect([await put(1), await put(2), await put(3)]).toEqual(Array(3).fill('stale'))
      expect(await t.store.tasks.part(task.id, 0)).toEqual(new Uint8Array([1, 2]))
      expect([await put(1, 1, 1), await put(1, 1, 2)]).toEqual(['ok', 'stale'])
      expect(await t.store.tasks.putPart(taskId(9), 0, new Uint8Array(1), 9, { run: 1, attempt: 1 })).toBe('unknown')
    },
  },
  {
    name: 'a late part of an attempt whose row was lost or dead is stored, like its late end',
    async run(t) {
      const task = await taskWith(t, 1, 3)
      const put = (index: number, attempt: number, run = 1) =>
        t.store.tasks.putPart(task.id, index, new Uint8Array([attempt]), 100, { run, attempt })
      const owner = await t.owner()
      const [first, second, third] = await t.fetch(owner, 'q', 3)
      await t.settleAndFetch(owner, { started: [begin(first), begin(third)] })
      const lost = (taken: FetchedJob, code: string, attempt: number) =>
        change(taken, { status: 'error', code, attempt })
      await t.store.tasks.changeEvents(
        [lost(first, 'lost', 1), lost(second, 'ran-elsewhere', 0), lost(third, 'broke', 1)],
        NOW,
      )
      expect([await put(0, 1), await put(1, 1)]).toEqual(['ok', 'ok'])
      const others = [await put(0, 2), await put(0, 1, 2), await put(1, 2), await put(1, 0), await put(2, 1)]
      expect(others).toEqual(Array(5).fill('stale'))
      await t.settleAndFetch(owner, { settlements: [finish(first), finish(second)] })
      expect(await expectExact(t, task)).toMatchObject({ counts: counts({ finished: 2, error: 1 }) })
      expect([await put(0, 1), await put(1, 1)]).toEqual(['stale', 'stale'])
      expect(await t.store.tasks.part(task.id, 0)).toEqual(new Uint8Array([1]))

      // A job in the dead set may be put back into its queue: before its start is recorded, or in the attempt that began.
      await t.store.tasks.changeEvents([lost(third, 'dead', 1)], NOW)
      expect([await put(2, 1), await put(2, 2)]).toEqual(['ok', 'ok'])
      expect([await put(2, 0), await put(2, 3), await put(2, 2, 2)]).toEqual(Array(3).fill('stale'))

      // Put back to work it is in another run.
      await t.store.tasks.changeEvents([lost(first, 'lost', 2)], NOW)
      await t.store.tasks.startRun(task.id, 1, owner, NOW)
      await t.store.tasks.retryRows(task.id, 2, [{ index: 0 }], NOW)
      expect([await put(0, 2), await put(0, 1), await put(0, 1, 2)]).toEqual(['stale', 'stale', 'ok'])
    },
  },
  {
    name: 'the parts of a task have a limit of bytes; a replaced part counts once',
    async run(t) {
      const task = await taskWith(t, 1, 1)
      const put = (index: number, bytes: number, most = 100) =>
        t.store.tasks.putPart(task.id, index, new Uint8Array(bytes), most)
      expect(await put(0, 60)).toBe('ok')
      expect(await put(0, 60)).toBe('ok')
      expect(await put(1, 41)).toBe('full')
      expect(await t.store.tasks.part(task.id, 1)).toBe(null)
      expect(await put(1, 40)).toBe('ok')
      expect(await put(0, 61)).toBe('full')
      expect((await t.store.tasks.part(task.id, 0))?.length).toBe(60)
      expect(await put(0, 10)).toBe('ok')
      expect(await put(2, 50)).toBe('ok')
      expect(await put(3, 1)).toBe('full')
      expect(await put(3, 1, 101)).toBe('ok')
    },
  },
  {
    name: 'parts of an ended task are stored, too',
    async run(t) {
      const task = await taskWith(t, 1, 0)
      expect(await t.store.tasks.putPart(task.id, 0, new Uint8Array([1]), 9)).toBe('ok')
      expect(await t.store.tasks.part(task.id, 0)).toEqual(new Uint8Array([1]))
    },
  },
  {
    name: 'the first value for a key stays until its time is over',
    async run(t) {
      expect(await t.store.results.remember('import ž', 'task 1', 60)).toBe(null)
      expect(await t.store.results.remember('import ž', 'task 2', 60)).toBe('task 1')
      expect(await t.store.results.remember('import ž', 'task 1', 60)).toBe('task 1')
      expect(await t.store.results.remember('other', '', 60)).toBe(null)
      expect(await t.store.results.remember('other', 'x', 60)).toBe('')
      expect(await t.store.results.remember('short', 'a', 0.15)).toBe(null)
      await until('it is forgotten', async () => (await t.store.results.remember('short', 'b', 60)) === null)
      expect(await t.store.results.remember('short', 'c', 60)).toBe('b')
      expect(await t.store.results.remember('import ž', 'x', 60)).toBe('task 1')
    },
  },
  {
    name: 'a value replaces the expected one, and a caller that names it removes it',
    async run(t) {
      await t.store.results.remember('k', 'a', 60)
      expect(await t.store.results.remember('k', 'b', 60, 'x')).toBe('a')
      expect(await t.store.results.remember('k', 'b', 60, 'a')).toBe(null)
      expect(await t.store.results.remember('k', '', 0, 'a')).toBe('b')
      expect(await t.store.results.remember('k', '', 0, 'b')).toBe(null)
      expect(await t.store.results.remember('k', 'c', 60)).toBe(null)
    },
  },
  {
    name: 'of many simultaneous values for a key one is stored',
    shared: true,
    async run(t) {
      const other = await t.another()
      const asked = Array.from({ length: 10 }, (_, i) =>
        (i % 2 ? t.store : other).results.remember('key', `value ${i}`, 60),
      )
      const answers = await Promise.all(asked)
      const [winner] = answers.flatMap((answer, i) => (answer === null ? [`value ${i}`] : []))
      expect(answers.filter((answer) => answer === null)).toHaveLength(1)
      expect(new Set(answers.filter((answer) => answer !== null))).toEqual(new Set([winner]))
    },
  },
]
