import { expect } from 'vitest'
import { type Case, done, NOW, toQueue } from '../bench.ts'
import {
  begin,
  cancelAll,
  change,
  counts,
  deliver,
  eventOf,
  expectExact,
  finish,
  jidOf,
  moveToDead,
  PRODUCER,
  postpone,
  REASON,
  record,
  rows,
  taskId,
  taskWith,
  twice,
  work,
} from './tracked.ts'

const SECOND = 1000

/** A task is cancelled: what has not begun never does, what runs ends as it ends, and then the task has ended. */
export const taskCancel: Case[] = [
  {
    name: 'a task without running rows is cancelled by cancelling its rows in steps',
    async run(t) {
      const task = await taskWith(t, 1, 25, { window: 4 })
      const owner = await t.owner()
      await work(t, owner, { n: 3 })
      expect(await twice(t, task, () => t.store.tasks.cancel(task.id, REASON, NOW))).toBe('ok')
      expect(await record(t, task)).toMatchObject({
        state: 'cancelling',
        reason: REASON,
        finishedAt: null,
        backlog: 18,
      })
      let cancelled = 0
      const maybeRunning: string[] = []
      for (let calls = 0; ; calls++) {
        expect(calls).toBeLessThan(30)
        const answer = await t.store.tasks.cancelRows(task.id, 5, NOW + SECOND)
        maybeRunning.push(...answer.maybeRunning)
        expect(answer.cancelled).toBeLessThanOrEqual(10)
        cancelled += answer.cancelled
        await expectExact(t, task)
        if (answer.done) break
        expect(await record(t, task)).toMatchObject({ state: 'cancelling' })
      }
      expect(cancelled).toBe(22)
      expect(maybeRunning.sort()).toEqual([3, 4, 5, 6].map((index) => jidOf(task.id, index)))
      expect(await expectExact(t, task)).toMatchObject({
        state: 'cancelled',
        finishedAt: NOW + SECOND,
        reason: REASON,
        backlog: 0,
        inWindow: 0,
        counts: counts({ finished: 3, cancelled: 22 }),
      })
      expect(await eventOf(t, task, 24)).toMatchObject({
        status: 'cancelled',
        code: 'cancelled',
        location: 'elsewhere',
      })
      expect((await eventOf(t, task, 24)).finishedAt).toBe(NOW + SECOND)
      expect(await t.store.tasks.cancelRows(task.id, 5, NOW)).toEqual({ cancelled: 0, maybeRunning: [], done: true })
      expect(await t.store.tasks.cancel(task.id, null, NOW)).toBe('ended')
    },
  },
  {
    name: 'a task without open rows is cancelled at once',
    async run(t) {
      const task = await taskWith(t, 1, 0, { open: true, onDone: { queue: 'calls', template: '{}' } })
      expect(await t.store.tasks.cancel(task.id, null, NOW + SECOND)).toBe('ok')
      expect(await expectExact(t, task)).toMatchObject({ state: 'cancelled', adding: false, finishedAt: NOW + SECOND })
      expect(await t.waiting('calls')).toHaveLength(1)
    },
  },
  {
    name: 'a task that is being cancelled enqueues no row and refuses new ones',
    async run(t) {
      const task = await taskWith(t, 1, 6, { window: 2, open: true })
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      await t.store.tasks.cancel(task.id, null, NOW)
      expect(await record(t, task)).toMatchObject({ state: 'cancelling', adding: false })
      await t.settleAndFetch(owner, { settlements: [finish(first)] })
      expect(await expectExact(t, task)).toMatchObject({
        inWindow: 1,
        backlog: 4,
        counts: counts({ finished: 1, enqueued: 5 }),
      })
      const refused = { ok: false, reason: 'ended', cursor: 6 }
      expect(await t.store.tasks.addRows(task.id, PRODUCER, 6, rows(6, 1), NOW)).toEqual(refused)
      expect(await t.store.tasks.addRows(task.id, 'row:1:1', 0, rows(6, 1), NOW)).toMatchObject({
        ok: false,
        reason: 'ended',
      })
      expect(await t.store.tasks.openAdding(task.id, 'other', NOW)).toMatchObject({ ok: false, reason: 'ended' })
      expect(await t.store.tasks.endAdding(task.id, PRODUCER, NOW)).toEqual({ ok: true, total: 6 })
      expect(await t.store.tasks.change(task.id, { paused: true, window: 9 }, NOW)).toBe('ok')
      expect(await expectExact(t, task)).toMatchObject({ state: 'cancelling', inWindow: 1, backlog: 4 })
    },
  },
  {
    name: 'a row in the queue is superseded at its start, is cancelled, and its settlement changes nothing',
    async run(t) {
      const task = await taskWith(t, 1, 3, { window: 2 })
      const owner = await t.owner()
      const [first, second] = await t.fetch(owner, 'q', 2)
      await t.store.tasks.cancel(task.id, null, NOW)
      for (let again = 0; again < 2; again++) {
        expect((await t.settleAndFetch(owner, { started: [begin(first)] })).started).toEqual(['superseded'])
        expect(await eventOf(t, task, 0)).toMatchObject({
          status: 'cancelled',
          code: 'cancelled',
          location: 'elsewhere',
        })
        expect(await expectExact(t, task)).toMatchObject({
          inWindow: 1,
          backlog: 1,
          counts: counts({ cancelled: 1, enqueued: 2 }),
        })
      }
      const before = await eventOf(t, task, 0)
      expect((await t.settleAndFetch(owner, { settlements: [finish(first)] })).settled).toEqual(['ok'])
      expect(await eventOf(t, task, 0)).toEqual(before)
      // One that had ended before it heard of that has ended as it did.
      await t.settleAndFetch(owner, { settlements: [finish(second)] })
      expect(await expectExact(t, task)).toMatchObject({ counts: counts({ finished: 1, cancelled: 1, enqueued: 1 }) })
      expect((await t.store.tasks.cancelRows(task.id, 9, NOW)).done).toBe(true)
      expect(await expectExact(t, task)).toMatchObject({ state: 'cancelled' })
    },
  },
  {
    name: 'a cancelled running row is reported and ends with its own outcome, and the last one ends the task',
    async run(t) {
      const onDone = { queue: 'calls', template: '{}' }
      const task = await taskWith(t, 1, 5, { window: 3, onDone })
      const owner = await t.owner()
      const [first, second, third] = await t.fetch(owner, 'q', 3)
      await t.settleAndFetch(owner, { started: [begin(first), begin(third)] })
      await t.store.tasks.cancel(task.id, null, NOW)
      expect((await t.settleAndFetch(owner, { started: [begin(first)] })).started).toEqual(['ok'])
      expect(await cancelAll(t, task, 2)).toEqual(new Set([0, 1, 2].map((index) => jidOf(task.id, index))))
      expect(await expectExact(t, task)).toMatchObject({
        state: 'cancelling',
        inWindow: 2,
        counts: counts({ working: 2, cancelled: 3 }),
      })
      expect(await t.store.tasks.cancelRows(task.id, 9, NOW)).toMatchObject({ cancelled: 0, done: true })
      await t.settleAndFetch(owner, { settlements: [done(second), finish(first, { status: 'failed', code: 'no' })] })
      expect(await record(t, task)).toMatchObject({ state: 'cancelling' })
      expect(await t.waiting('calls')).toEqual([])
      await t.settleAndFetch(owner, { now: NOW + SECOND, settlements: [finish(third)] })
      expect(await expectExact(t, task)).toMatchObject({
        state: 'cancelled',
        finishedAt: NOW + SECOND,
        inWindow: 0,
        counts: counts({ finished: 1, failed: 1, cancelled: 3 }),
      })
      expect(await t.waiting('calls')).toHaveLength(1)
    },
  },
  {
    name: 'running rows are reported, also if cancelling the backlog uses up a whole call',
    async run(t) {
      const task = await taskWith(t, 1, 12, { window: 2 })
      const owner = await t.owner()
      const taken = await t.fetch(owner, 'q', 2)
      await t.settleAndFetch(owner, { started: taken.map((one) => begin(one)) })
      await t.store.tasks.cancel(task.id, null, NOW)
      expect(await cancelAll(t, task, 10)).toEqual(new Set([0, 1].map((index) => jidOf(task.id, index))))
    },
  },
  {
    name: 'a running row that would be retried or requeued is cancelled instead',
    async run(t) {
      const task = await taskWith(t, 1, 3, { window: 3 })
      const owner = await t.owner()
      const [first, second, third] = await t.fetch(owner, 'q', 3)
      await t.settleAndFetch(owner, { started: [begin(first), begin(second), begin(third)] })
      await t.store.tasks.cancel(task.id, null, NOW)
      const messages = [{ at: NOW, code: 'broke', params: {} }]
      await t.settleAndFetch(owner, { settlements: [postpone(first, 5, { messages })] })
      expect(await eventOf(t, task, 0)).toMatchObject({ status: 'cancelled', attempts: 1, messages })
      const back = [change(second, { status: 'enqueued', window: 'keep' })]
      await t.settleAndFetch(owner, {
        settlements: [done(second, { move: toQueue('q', second.text, 'front'), effects: back })],
      })
      expect(await expectExact(t, task)).toMatchObject({ inWindow: 1, counts: counts({ working: 1, cancelled: 2 }) })
      // Rescued from a dead owner.
      await t.store.workers.claim(owner)
      const [item] = await t.store.workers.orphaned(9)
      if (!item) throw new Error('no job is orphaned')
      const effects = [change(item, { status: 'enqueued', window: 'keep' })]
      const to = toQueue('q', item.text, 'front')
      expect(await t.store.workers.rescue([{ owner, queue: 'q', ticket: item.ticket, to, effects }], NOW)).toEqual([
        'ok',
      ])
      expect(await expectExact(t, task)).toMatchObject({
        state: 'cancelled',
        inWindow: 0,
        counts: counts({ cancelled: 3 }),
      })
      // Their texts turn up and are settled unrun.
      const next = await t.owner()
      const taken = await t.fetch(next, 'q', 9)
      expect(taken).toHaveLength(2)
      const { started } = await t.settleAndFetch(next, { started: taken.map((one) => begin(one, { attempt: 2 })) })
      expect(started).toEqual(['superseded', 'superseded'])
      expect(await record(t, task)).toMatchObject({ state: 'cancelled' })
    },
  },
  {
    name: 'a row that waits for a retry is cancelled with the others; its job is dropped when it is due',
    async run(t) {
      const task = await taskWith(t, 1, 2, { window: 2 })
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      await t.settleAndFetch(owner, { settlements: [postpone(first, 5)] })
      await t.store.tasks.cancel(task.id, null, NOW)
      expect((await t.store.tasks.cancelRows(task.id, 9, NOW)).done).toBe(true)
      expect(await record(t, task)).toMatchObject({ state: 'cancelled' })
      const effects = [change(first, { status: 'enqueued', window: 'enter' })]
      const swap = { text: first.text, score: 5, to: toQueue('p', first.text), effects }
      expect(await t.store.jobSets.swap('retry', [swap], NOW)).toEqual(['ok'])
      expect(await expectExact(t, task)).toMatchObject({
        state: 'cancelled',
        inWindow: 0,
        counts: counts({ cancelled: 2 }),
      })
      const [again] = await t.fetch(owner, 'p')
      expect((await t.settleAndFetch(owner, { started: [begin(again, { attempt: 2 })] })).started).toEqual([
        'superseded',
      ])
      await t.settleAndFetch(owner, { settlements: [done(again)] })
      expect(await expectExact(t, task)).toMatchObject({ state: 'cancelled', counts: counts({ cancelled: 2 }) })
    },
  },
  {
    name: 'a retry that is due before its row was cancelled is cancelled at that moment',
    async run(t) {
      const task = await taskWith(t, 1, 2, { window: 2 })
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      await t.settleAndFetch(owner, { settlements: [postpone(first, 5)] })
      await t.store.tasks.cancel(task.id, null, NOW)
      const effects = [change(first, { status: 'enqueued', window: 'enter' })]
      await t.store.jobSets.swap('retry', [{ text: first.text, score: 5, to: toQueue('p', first.text), effects }], NOW)
      expect(await expectExact(t, task)).toMatchObject({ inWindow: 1, counts: counts({ cancelled: 1, enqueued: 1 }) })
    },
  },
  {
    name: 'returned rows in the backlog are cancelled, and never enter the queue',
    async run(t) {
      const task = await taskWith(t, 1, 3, { window: 1 })
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      await t.settleAndFetch(owner, { settlements: [postpone(first, 5)] })
      const effects = [change(first, { status: 'enqueued', window: 'enter' })]
      await t.store.jobSets.swap('retry', [{ text: first.text, score: 5, to: toQueue('q', first.text), effects }], NOW)
      expect(await expectExact(t, task)).toMatchObject({ backlog: 2, inWindow: 1 })
      await t.store.tasks.cancel(task.id, null, NOW)
      while (!(await t.store.tasks.cancelRows(task.id, 1, NOW)).done) await expectExact(t, task)
      expect(await expectExact(t, task)).toMatchObject({ state: 'cancelled', backlog: 0, inWindow: 0 })
      expect(await t.waiting('q')).toHaveLength(1)
    },
  },
  {
    name: 'a dead row of a cancelled task stays unchanged when its job is retried',
    async run(t) {
      const task = await taskWith(t, 1, 2, { window: 2 })
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      await t.settleAndFetch(owner, { settlements: [moveToDead(first, 5, { code: 'TypeError' })] })
      await t.store.tasks.cancel(task.id, null, NOW)
      await t.store.tasks.cancelRows(task.id, 9, NOW)
      const before = await expectExact(t, task)
      const event = await eventOf(t, task, 0)
      const effects = [change(first, { status: 'enqueued', window: 'enter' })]
      await t.store.jobSets.swap('dead', [{ text: first.text, score: 5, to: toQueue('p', first.text), effects }], NOW)
      const [again] = await t.fetch(owner, 'p')
      expect((await t.settleAndFetch(owner, { started: [begin(again, { attempt: 2 })] })).started).toEqual([
        'superseded',
      ])
      await t.settleAndFetch(owner, { settlements: [done(again)] })
      expect(await eventOf(t, task, 0)).toEqual(event)
      expect(await expectExact(t, task)).toEqual(before)
    },
  },
  {
    name: 'a paused task is cancelled, and loses the reason of its pause',
    async run(t) {
      const task = await taskWith(t, 1, 4)
      await t.store.tasks.change(task.id, { paused: true, reason: REASON }, NOW)
      await t.store.tasks.cancel(task.id, null, NOW)
      expect(await record(t, task)).toMatchObject({ state: 'cancelling', reason: null })
      await t.store.tasks.cancelRows(task.id, 9, NOW)
      expect(await expectExact(t, task)).toMatchObject({ state: 'cancelled', counts: counts({ cancelled: 4 }) })
    },
  },
  {
    name: 'an interrupted task is cancelled, even when all its rows have ended',
    async run(t) {
      const task = await taskWith(t, 1, 1, { open: true })
      await t.store.tasks.endAdding(task.id, PRODUCER, NOW, true)
      await work(t, await t.owner())
      expect(await record(t, task)).toMatchObject({ state: 'interrupted' })
      await t.store.tasks.cancel(task.id, null, NOW)
      expect(await expectExact(t, task)).toMatchObject({ state: 'cancelled', counts: counts({ finished: 1 }) })
    },
  },
  {
    name: 'rows of a task that is not being cancelled are not cancelled',
    async run(t) {
      const task = await taskWith(t, 1, 4)
      const nothing = { cancelled: 0, maybeRunning: [], done: true }
      expect(await t.store.tasks.cancelRows(task.id, 9, NOW)).toEqual(nothing)
      expect(await expectExact(t, task)).toMatchObject({ counts: counts({ enqueued: 4 }) })
      expect(await t.store.tasks.cancelRows(taskId(9), 9, NOW)).toEqual(nothing)
      expect(await t.store.tasks.cancel(taskId(9), null, NOW)).toBe(null)
    },
  },
  {
    name: 'later effects on a cancelled row do nothing, in any order',
    async run(t) {
      const task = await taskWith(t, 1, 2, { window: 2 })
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q', 2)
      await t.store.tasks.cancel(task.id, null, NOW)
      await t.store.tasks.cancelRows(task.id, 9, NOW)
      const before = await expectExact(t, task)
      for (const attempt of [1, 2, 7]) {
        for (const status of ['working', 'enqueued', 'finished', 'failed', 'error'] as const) {
          await deliver(t, change(first, { attempt, status, window: status === 'working' ? 'keep' : 'leave' }))
        }
      }
      expect(await expectExact(t, task)).toEqual(before)
    },
  },
  {
    name: '3,000 rows are cancelled in small steps while other rows of the task end',
    async run(t) {
      const task = await taskWith(t, 1, 1000, { window: 10, open: true })
      for (const from of [1000, 2000]) await t.store.tasks.addRows(task.id, PRODUCER, from, rows(from, 1000), NOW)
      const owner = await t.owner()
      const taken = await t.fetch(owner, 'q', 10)
      await t.settleAndFetch(owner, { started: taken.map((one) => begin(one)) })
      await t.store.tasks.cancel(task.id, null, NOW)
      let cancelled = 0
      for (let done = false; !done; ) {
        const [last] = taken.splice(-1)
        if (last) await t.settleAndFetch(owner, { settlements: [finish(last)] })
        const answer = await t.store.tasks.cancelRows(task.id, 300, NOW)
        cancelled += answer.cancelled
        done = answer.done
      }
      await t.settleAndFetch(owner, { settlements: taken.map((one) => finish(one)) })
      expect(cancelled).toBe(2990)
      expect(await expectExact(t, task)).toMatchObject({
        state: 'cancelled',
        counts: counts({ finished: 10, cancelled: 2990 }),
      })
    },
  },
]
