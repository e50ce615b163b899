import { expect } from 'vitest'
import type { DeferredEnd, EventEffect, FetchedJob, Settlement, TaskSpec } from '#dist/store/contract.js'
import { type Bench, type Case, done, NOW, toQueue } from '../bench.ts'
import {
  begin,
  change,
  counts,
  deliver,
  eventOf,
  expectExact,
  finish,
  jidOf,
  moveToDead,
  payloadOf,
  postpone,
  record,
  taskWith,
  twice,
  work,
} from './tracked.ts'

const SECOND = 1000
const UNTIL = NOW + 60 * SECOND

/** The handler calls `ctx.defer`. */
function defer(t: Bench, taken: { text: string }, { attempt = 1, until = UNTIL } = {}) {
  const { jid, hk_run: run } = payloadOf(taken)
  return t.store.tasks.defer({ jid, run, attempt, at: NOW, until }, NOW)
}

/** The handler of a deferred attempt returned. */
function park(taken: FetchedJob, more: Partial<EventEffect> = {}): Settlement {
  return done(taken, { effects: [change(taken, { status: 'working', window: 'park', at: NOW + SECOND, ...more })] })
}

function end(t: Bench, task: TaskSpec, index: number, more: Partial<DeferredEnd> = {}, now = NOW + 2 * SECOND) {
  return t.store.tasks.endDeferred({ jid: jidOf(task.id, index), status: 'finished', ...more }, now)
}

/** A task of which the first rows are parked. */
async function withParked(t: Bench, rows: number, parked: number, more: Parameters<typeof taskWith>[3] = {}) {
  const task = await taskWith(t, 1, rows, more)
  const owner = await t.owner()
  const taken: FetchedJob[] = await t.fetch(owner, 'q', parked)
  for (const one of taken) expect(await defer(t, one)).toBe('ok')
  const messages = [{ at: NOW, code: 'sent', params: {} }]
  const { settled } = await t.settleAndFetch(owner, { settlements: taken.map((one) => park(one, { messages })) })
  expect(settled).toEqual(taken.map(() => 'ok'))
  return { task, owner, taken }
}

const OK = { answer: 'ok', status: 'finished', code: null }
const TIMEOUT = { status: 'error', code: 'deferred-timeout', isOverdue: true } as const

/** A row stays `working` after its attempt, until something outside says how it ended. */
export const taskDeferred: Case[] = [
  {
    name: 'a parked row is working without a job, leaves the window, and ends once',
    async run(t) {
      const { task, owner, taken } = await withParked(t, 3, 1, {
        window: 1,
        onDone: { queue: 'calls', template: '{}' },
      })
      expect(await expectExact(t, task)).toMatchObject({
        state: 'running',
        inWindow: 1,
        deferred: 1,
        counts: counts({ working: 1, enqueued: 2 }),
      })
      expect(await eventOf(t, task, 0)).toMatchObject({
        status: 'working',
        location: 'elsewhere',
        attempts: 1,
        startedAt: NOW,
        finishedAt: null,
        deferredUntil: UNTIL,
        messages: [{ code: 'sent' }],
      })
      await deliver(t, change(taken[0] as FetchedJob, { status: 'working', window: 'park' }))
      expect((await eventOf(t, task, 0)).messages).toHaveLength(1)
      expect(await expectExact(t, task)).toMatchObject({ deferred: 1 })
      expect(await end(t, task, 0, { result: '{"id":7}' })).toEqual(OK)
      expect(await end(t, task, 0, { status: 'failed', code: 'late' })).toEqual({ ...OK, answer: 'ended' })
      const event = await eventOf(t, task, 0)
      expect(event).toMatchObject({ status: 'finished', attempts: 1, result: '{"id":7}', startedAt: NOW })
      expect(event).toMatchObject({ finishedAt: NOW + 2 * SECOND })
      expect(event).not.toHaveProperty('deferredUntil')
      expect(await expectExact(t, task)).toMatchObject({ deferred: 0, counts: counts({ finished: 1, enqueued: 2 }) })
      await work(t, owner)
      await work(t, owner)
      expect(await expectExact(t, task)).toMatchObject({ state: 'done' })
      expect(await t.waiting('calls')).toHaveLength(1)
    },
  },
  {
    name: 'the last deferred row ends its task, and the callback is pushed once, also when several ends race',
    async run(t) {
      const calls = { queue: 'calls', template: '{}' }
      const { task } = await withParked(t, 2, 2, { onDone: calls, onFailure: { ...calls, queue: 'failures' } })
      await end(t, task, 0)
      expect(await record(t, task)).toMatchObject({ state: 'running', deferred: 1 })
      const messages = [{ at: NOW, code: 'told', params: {} }]
      const failed = { status: 'failed' as const, code: 'declined', messages }
      const answers = await Promise.all([end(t, task, 1, failed), end(t, task, 1, failed), end(t, task, 1, failed)])
      expect(answers.map(({ answer }) => answer).sort()).toEqual(['ended', 'ended', 'ok'])
      expect(answers[2]).toMatchObject({ status: 'failed', code: 'declined' })
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', counts: counts({ finished: 1, failed: 1 }) })
      expect((await eventOf(t, task, 1)).messages).toMatchObject([{ code: 'sent' }, { code: 'told' }])
      expect(await t.waiting('calls')).toHaveLength(1)
      expect(await t.waiting('failures')).toHaveLength(1)
    },
  },
  {
    name: 'an end that comes before the attempt has settled is kept, and the settlement only adds its messages',
    async run(t) {
      for (const isBegun of [false, true]) {
        const task = await taskWith(t, isBegun ? 2 : 1, 2, { queue: `q${isBegun}`, window: 1 })
        const owner = await t.owner({ queues: [task.queue] })
        const [taken] = await t.fetch(owner, task.queue)
        if (isBegun) await t.settleAndFetch(owner, { started: [begin(taken)] })
        expect(await twice(t, task, () => defer(t, taken))).toBe('ok')
        expect(await eventOf(t, task, 0)).toMatchObject({ status: 'working', attempts: 1, location: 'window' })
        expect(await end(t, task, 0, { result: '1' })).toEqual(OK)
        expect(await expectExact(t, task)).toMatchObject({ inWindow: 1, counts: counts({ finished: 1, enqueued: 1 }) })
        expect((await t.settleAndFetch(owner, { started: [begin(taken)] })).started).toEqual(['superseded'])
        const parked = park(taken, { messages: [{ at: NOW, code: 'sent', params: {} }] })
        expect((await t.settleAndFetch(owner, { settlements: [parked] })).settled).toEqual(['ok'])
        const event = await eventOf(t, task, 0)
        expect(event).toMatchObject({ status: 'finished', result: '1', messages: [{ code: 'sent' }] })
        expect(await expectExact(t, task)).toMatchObject({ deferred: 0, inWindow: 1 })
        expect(await defer(t, taken)).toBe('superseded')
      }
    },
  },
  {
    name: 'nothing that the job does later in the run changes a row that was ended',
    async run(t) {
      const task = await taskWith(t, 1, 4, { window: 4 })
      const owner = await t.owner()
      const taken: FetchedJob[] = await t.fetch(owner, 'q', 4)
      const [first, second, third, fourth] = taken as [FetchedJob, FetchedJob, FetchedJob, FetchedJob]
      for (const one of taken) await defer(t, one)
      for (let index = 0; index < 4; index++) await end(t, task, index, { status: 'failed', code: 'declined' })
      const settlements = [finish(first, { result: '2' }), postpone(second, 5), moveToDead(third, 6)]
      expect((await t.settleAndFetch(owner, { settlements })).settled).toEqual(['ok', 'ok', 'ok'])
      // The fourth job was rescued, and starts again.
      const released = change(fourth, { status: 'enqueued', window: 'keep' })
      const settled = done(fourth, { processed: 0, move: toQueue('q', fourth.text), effects: [released] })
      await t.settleAndFetch(owner, { settlements: [settled] })
      const [again] = await t.fetch(owner, 'q')
      expect((await t.settleAndFetch(owner, { started: [begin(again, { attempt: 2 })] })).started).toEqual([
        'superseded',
      ])
      expect(await defer(t, again, { attempt: 2 })).toBe('superseded')
      for (let index = 0; index < 4; index++) {
        expect(await eventOf(t, task, index)).toMatchObject({ status: 'failed', code: 'declined', attempts: 1 })
      }
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', inWindow: 0, counts: counts({ failed: 4 }) })
    },
  },
  {
    name: 'a row whose deferred attempt failed or was rescued still ends from outside, wherever its job is',
    async run(t) {
      const task = await taskWith(t, 1, 3, { window: 3 })
      const owner = await t.owner()
      const taken: FetchedJob[] = await t.fetch(owner, 'q', 3)
      const [first, second, third] = taken as [FetchedJob, FetchedJob, FetchedJob]
      for (const one of taken) await defer(t, one)
      const released = change(second, { status: 'enqueued', window: 'keep' })
      const settlements = [
        postpone(first, 5),
        done(second, { processed: 0, move: toQueue('q', second.text), effects: [released] }),
        moveToDead(third, 6, { code: 'TypeError' }),
      ]
      await t.settleAndFetch(owner, { settlements })
      // No deadline applies to a row that is not in its deferred attempt.
      const overdue = await t.store.tasks.overdue(UNTIL, 10)
      expect(overdue.toSorted()).toEqual([0, 1, 2].map((index) => jidOf(task.id, index)))
      for (let index = 0; index < 2; index++) {
        expect(await end(t, task, index, TIMEOUT, UNTIL)).toMatchObject({ answer: 'not-deferred', status: 'enqueued' })
      }
      expect(await end(t, task, 2, TIMEOUT, UNTIL)).toMatchObject({ answer: 'ended', code: 'TypeError' })
      expect(await t.store.tasks.overdue(UNTIL, 10)).toEqual([])
      expect(await end(t, task, 0)).toEqual(OK)
      expect(await end(t, task, 1)).toEqual(OK)
      expect(await end(t, task, 2)).toEqual({ answer: 'ended', status: 'error', code: 'TypeError' })
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', counts: counts({ finished: 2, error: 1 }) })
      // A person puts the dead job back into its queue.
      await deliver(t, change(third, { status: 'enqueued', window: 'enter' }))
      expect(await eventOf(t, task, 2)).toMatchObject({ status: 'enqueued' })
    },
  },
  {
    name: 'a row that was never deferred, and an unknown row, are not ended',
    async run(t) {
      const task = await taskWith(t, 1, 2, { window: 1 })
      const owner = await t.owner()
      const [taken] = await t.fetch(owner, 'q')
      for (const index of [0, 1]) {
        const answer = { answer: 'not-deferred', status: 'enqueued', code: null }
        expect(await end(t, task, index)).toEqual(answer)
      }
      await t.settleAndFetch(owner, { started: [begin(taken)] })
      expect(await end(t, task, 0)).toMatchObject({ answer: 'not-deferred', status: 'working' })
      await t.settleAndFetch(owner, { settlements: [finish(taken)] })
      expect(await end(t, task, 0)).toEqual({ ...OK, answer: 'ended' })
      const unknown = { answer: 'unknown', status: null, code: null }
      expect(await end(t, task, 2)).toEqual(unknown)
      expect(await t.store.tasks.endDeferred({ jid: 'f'.repeat(24), status: 'finished' }, NOW)).toEqual(unknown)
      expect(await defer(t, { text: taken.text.replace(task.id, 'f'.repeat(16)) })).toBe('unknown')
      expect(await expectExact(t, task)).toMatchObject({ counts: counts({ finished: 1, enqueued: 1 }) })
    },
  },
  {
    name: 'the deadline ends a row once, and neither before its time nor after an end from outside',
    async run(t) {
      const { task, owner } = await withParked(t, 3, 2, { window: 2 })
      const [running] = await t.fetch(owner, 'q')
      expect(await defer(t, running, { until: UNTIL - SECOND })).toBe('ok')
      expect(await t.store.tasks.overdue(UNTIL - SECOND - 1, 10)).toEqual([])
      expect(await t.store.tasks.overdue(UNTIL, 1)).toEqual([jidOf(task.id, 2)])
      expect(await end(t, task, 0, TIMEOUT, UNTIL - 1)).toMatchObject({ answer: 'not-deferred', status: 'working' })
      const race = await Promise.all([end(t, task, 0, TIMEOUT, UNTIL), end(t, task, 0, {}, UNTIL)])
      expect(race.map(({ answer }) => answer).sort()).toEqual(['ended', 'ok'])
      expect(race[0].status).toBe(race[1].status)
      expect(await end(t, task, 1, TIMEOUT, UNTIL)).toEqual({ answer: 'ok', status: 'error', code: 'deferred-timeout' })
      expect(await end(t, task, 1, TIMEOUT, UNTIL)).toMatchObject({ answer: 'ended' })
      expect(await end(t, task, 1)).toEqual({ answer: 'ended', status: 'error', code: 'deferred-timeout' })
      // The handler of the third row still runs.
      expect(await end(t, task, 2, TIMEOUT, UNTIL)).toMatchObject({ answer: 'ok' })
      await t.settleAndFetch(owner, { settlements: [park(running)] })
      expect(await eventOf(t, task, 2)).toMatchObject({ status: 'error', code: 'deferred-timeout' })
      expect(await t.store.tasks.overdue(UNTIL, 10)).toEqual([])
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', deferred: 0, inWindow: 0 })
    },
  },
  {
    name: 'a second deferral moves the deadline, also one of a later attempt',
    async run(t) {
      const task = await taskWith(t, 1, 1)
      const owner = await t.owner()
      const [taken] = await t.fetch(owner, 'q')
      await defer(t, taken)
      await defer(t, taken, { until: UNTIL + SECOND })
      expect(await t.store.tasks.overdue(UNTIL, 10)).toEqual([])
      const released = change(taken, { status: 'enqueued', window: 'keep' })
      const back = done(taken, { processed: 0, move: toQueue('q', taken.text), effects: [released] })
      await t.settleAndFetch(owner, { settlements: [back] })
      const [again] = await t.fetch(owner, 'q')
      expect(await defer(t, again, { attempt: 2, until: UNTIL + 5 * SECOND })).toBe('ok')
      expect(await defer(t, taken, { attempt: 1, until: UNTIL })).toBe('superseded')
      expect(await end(t, task, 0, TIMEOUT, UNTIL + SECOND)).toMatchObject({ answer: 'not-deferred' })
      await t.settleAndFetch(owner, { settlements: [park(again, { attempt: 2 })] })
      expect(await eventOf(t, task, 0)).toMatchObject({ attempts: 2, deferredUntil: UNTIL + 5 * SECOND })
      expect(await t.store.tasks.overdue(UNTIL + 5 * SECOND, 10)).toEqual([jidOf(task.id, 0)])
      expect(await end(t, task, 0, TIMEOUT, UNTIL + 5 * SECOND)).toMatchObject({ answer: 'ok' })
    },
  },
  {
    name: 'cancelling a task cancels its parked rows, also one that is parked during it',
    async run(t) {
      const { task, owner } = await withParked(t, 4, 2, { window: 2 })
      const [running] = await t.fetch(owner, 'q')
      await defer(t, running)
      await t.store.tasks.cancel(task.id, null, NOW)
      expect(await defer(t, running)).toBe('superseded')
      const { maybeRunning, done: isDone } = await t.store.tasks.cancelRows(task.id, 10, NOW)
      expect({ maybeRunning, isDone }).toEqual({ maybeRunning: [jidOf(task.id, 2), jidOf(task.id, 3)], isDone: true })
      expect(await expectExact(t, task)).toMatchObject({
        state: 'cancelling',
        deferred: 0,
        counts: counts({ working: 1, cancelled: 3 }),
      })
      await t.settleAndFetch(owner, { settlements: [park(running)] })
      expect(await expectExact(t, task)).toMatchObject({ state: 'cancelled', counts: counts({ cancelled: 4 }) })
      for (const index of [0, 2]) {
        expect(await end(t, task, index)).toEqual({ answer: 'ended', status: 'cancelled', code: 'cancelled' })
      }
      for (const jid of await t.store.tasks.overdue(UNTIL, 10)) {
        expect(await t.store.tasks.endDeferred({ jid, ...TIMEOUT }, UNTIL)).toMatchObject({ answer: 'ended' })
      }
      expect(await t.store.tasks.overdue(UNTIL, 10)).toEqual([])
    },
  },
  {
    name: 'a row whose cancellation was requested before it is parked is cancelled',
    async run(t) {
      const task = await taskWith(t, 1, 1)
      const owner = await t.owner()
      const [taken] = await t.fetch(owner, 'q')
      await defer(t, taken)
      await t.store.cancellations.request(jidOf(task.id, 0), NOW)
      await t.settleAndFetch(owner, {
        settlements: [park(taken, { messages: [{ at: NOW, code: 'sent', params: {} }] })],
      })
      expect(await eventOf(t, task, 0)).toMatchObject({ status: 'cancelled', messages: [{ code: 'sent' }] })
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', deferred: 0, inWindow: 0 })
      expect(await t.store.cancellations.withdraw(jidOf(task.id, 0), NOW)).toBe('aborted')
      expect(await end(t, task, 0)).toMatchObject({ answer: 'ended', status: 'cancelled' })
    },
  },
  {
    name: 'a deleted task leaves nothing that is overdue',
    async run(t) {
      const { task } = await withParked(t, 2, 2)
      while (!(await t.store.tasks.delete(task.id, 10)));
      for (const jid of await t.store.tasks.overdue(UNTIL, 10)) {
        expect(await t.store.tasks.endDeferred({ jid, ...TIMEOUT }, UNTIL)).toMatchObject({ answer: 'unknown' })
      }
      expect(await t.store.tasks.overdue(UNTIL, 10)).toEqual([])
    },
  },
  {
    name: 'a row that ended from outside runs again in another run, and an end of the run before does not end it',
    async run(t) {
      const { task, owner, taken } = await withParked(t, 2, 2, { onDone: { queue: 'calls', template: '{}' } })
      await end(t, task, 0, TIMEOUT, UNTIL)
      await end(t, task, 1)
      expect(await t.store.tasks.startRun(task.id, 1, owner, NOW)).toBe('ok')
      expect(await t.store.tasks.retryRows(task.id, 2, [{ index: 0 }], NOW)).toEqual(['ok'])
      await t.store.tasks.endAdding(task.id, owner, NOW)
      expect(await end(t, task, 0)).toMatchObject({ answer: 'not-deferred', status: 'enqueued' })
      const [again] = await t.fetch(owner, 'q')
      expect((await t.settleAndFetch(owner, { started: [begin(again)] })).started).toEqual(['ok'])
      expect(await defer(t, taken[0] as FetchedJob)).toBe('superseded')
      expect(await defer(t, again, { until: UNTIL + SECOND })).toBe('ok')
      await t.settleAndFetch(owner, { settlements: [park(again)] })
      expect(await expectExact(t, task)).toMatchObject({
        deferred: 1,
        run: 2,
        counts: counts({ working: 1, finished: 1 }),
      })
      expect(await end(t, task, 0)).toEqual(OK)
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', deferred: 0, counts: counts({ finished: 2 }) })
      expect(await t.waiting('calls')).toHaveLength(2)
    },
  },
]
