import { expect } from 'vitest'
import { type Case, NOW, toQueue } from '../bench.ts'
import {
  argsIn,
  begin,
  change,
  counts,
  deliver,
  eventOf,
  expectExact,
  finish,
  moveToDead,
  PRODUCER,
  postpone,
  REASON,
  record,
  rows,
  spec,
  taskId,
  taskWith,
  twice,
  work,
} from './tracked.ts'

const SECOND = 1000
const paused = { paused: true }
const resumed = { paused: false }

/** A task is paused, goes on, and is told other terms. */
export const taskSteering: Case[] = [
  {
    name: 'a paused task enqueues no row; queued rows run; a resume continues it',
    async run(t) {
      const task = await taskWith(t, 1, 5, { window: 2 })
      expect(await twice(t, task, () => t.store.tasks.change(task.id, { ...paused, reason: REASON }, NOW))).toBe('ok')
      expect(await record(t, task)).toMatchObject({ state: 'paused', adding: false, reason: REASON })
      const owner = await t.owner()
      expect(await work(t, owner)).toHaveLength(2)
      expect(await t.waiting('q')).toEqual([])
      expect(await expectExact(t, task)).toMatchObject({ state: 'paused', backlog: 3, inWindow: 0 })
      expect(await twice(t, task, () => t.store.tasks.change(task.id, resumed, NOW))).toBe('ok')
      expect(await record(t, task)).toMatchObject({ state: 'running', reason: null, backlog: 1, inWindow: 2 })
      expect(await argsIn(t)).toEqual([[2], [3]])
      while ((await work(t, owner)).length > 0);
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', counts: counts({ finished: 5 }) })
    },
  },
  {
    name: 'a row that returns to a paused task waits, and is the first after a resume',
    async run(t) {
      const task = await taskWith(t, 1, 3, { window: 1 })
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      await t.store.tasks.change(task.id, paused, NOW)
      await t.settleAndFetch(owner, { settlements: [postpone(first, 5)] })
      expect(await expectExact(t, task)).toMatchObject({ inWindow: 0, backlog: 2 })
      const effects = [change(first, { status: 'enqueued', window: 'enter' })]
      await t.store.jobSets.swap('retry', [{ text: first.text, score: 5, to: toQueue('q', first.text), effects }], NOW)
      expect(await t.waiting('q')).toEqual([])
      expect(await expectExact(t, task)).toMatchObject({ inWindow: 0, backlog: 3 })
      await t.store.tasks.change(task.id, resumed, NOW)
      expect(await t.waiting('q')).toEqual([first.text])
    },
  },
  {
    name: 'rows are added to a paused task and wait; it stays paused when adding ends',
    async run(t) {
      const task = spec(1)
      await t.store.tasks.create(task)
      await t.store.tasks.change(task.id, paused, NOW)
      expect(await record(t, task)).toMatchObject({ state: 'paused', adding: true })
      expect(await twice(t, task, () => t.store.tasks.addRows(task.id, PRODUCER, 0, rows(0, 4), NOW))).toMatchObject({
        ok: true,
      })
      expect(await t.waiting('q')).toEqual([])
      expect(await twice(t, task, () => t.store.tasks.endAdding(task.id, PRODUCER, NOW))).toMatchObject({ ok: true })
      expect(await expectExact(t, task)).toMatchObject({ state: 'paused', adding: false, backlog: 4, inWindow: 0 })
      await t.store.tasks.change(task.id, resumed, NOW)
      expect(await record(t, task)).toMatchObject({ state: 'running', backlog: 1, inWindow: 3 })
    },
  },
  {
    name: 'a paused task that is resumed while rows are added is adding again',
    async run(t) {
      const task = await taskWith(t, 1, 1, { open: true })
      await t.store.tasks.change(task.id, paused, NOW)
      await t.store.tasks.change(task.id, resumed, NOW)
      expect(await record(t, task)).toMatchObject({ state: 'adding', adding: true })
    },
  },
  {
    name: 'a paused task is done when its last row ends, and the pause ends, too',
    async run(t) {
      const onDone = { queue: 'calls', template: '{"class":"Done"}' }
      const task = await taskWith(t, 1, 2, { onDone })
      await t.store.tasks.change(task.id, { ...paused, reason: REASON }, NOW)
      const owner = await t.owner()
      const [first, last] = await t.fetch(owner, 'q', 2)
      await t.settleAndFetch(owner, { settlements: [finish(first)] })
      expect(await record(t, task)).toMatchObject({ state: 'paused', reason: REASON, finishedAt: null })
      expect(await t.waiting('calls')).toEqual([])
      const at = NOW + 5 * SECOND
      await t.settleAndFetch(owner, { now: at, settlements: [moveToDead(last, 9, { at })] })
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', reason: null, finishedAt: at })
      expect(await t.waiting('calls')).toHaveLength(1)
      expect(await t.store.tasks.change(task.id, resumed, at)).toBe('ended')

      // Opened again, by hand, it runs: nothing is left of the pause.
      await deliver(t, change(last, { attempt: 2, status: 'working', window: 'keep' }))
      expect(await record(t, task)).toMatchObject({ state: 'running', finishedAt: null })
      await deliver(t, change(last, { attempt: 2, status: 'finished', window: 'keep' }))
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', counts: counts({ finished: 2 }) })
      expect(await t.waiting('calls')).toHaveLength(1)
    },
  },
  {
    name: 'a task whose last row exceeds maxFailures is done, with the reason until it runs again',
    async run(t) {
      const onDone = { queue: 'calls', template: '{"class":"Done"}' }
      const task = await taskWith(t, 1, 2, { onDone, maxFailures: { rows: 0 } })
      await work(t, await t.owner(), { status: 'failed', n: 2 })
      const beyond = (rejected: number, ended: number) => ({
        at: NOW,
        code: 'too-many-failures',
        params: { rejected, ended },
      })
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', reason: beyond(2, 2), finishedAt: NOW })
      expect(await t.waiting('calls')).toHaveLength(1)

      const share = await taskWith(t, 2, 5, { window: 5, onDone, maxFailures: { percent: 40 }, open: true })
      await work(t, await t.owner(), { status: 'failed', n: 3 })
      await work(t, await t.owner(), { n: 2 })
      await twice(t, share, () => t.store.tasks.endAdding(share.id, PRODUCER, NOW))
      expect(await expectExact(t, share)).toMatchObject({ state: 'done', reason: beyond(3, 5) })
      expect(await t.waiting('calls')).toHaveLength(2)
      expect(await t.store.tasks.startRun(share.id, 1, 'other', NOW)).toBe('ok')
      expect(await record(t, share)).toMatchObject({ state: 'adding', reason: null })
    },
  },
  {
    name: 'a paused task all of whose rows have ended is done when adding ends, also one without rows',
    async run(t) {
      const onDone = { queue: 'calls', template: '{"class":"Done"}' }
      const empty = spec(2, { onDone })
      await t.store.tasks.create(empty)
      const task = await taskWith(t, 1, 2, { onDone, open: true })
      await work(t, await t.owner())
      for (const one of [task, empty]) {
        await t.store.tasks.change(one.id, { ...paused, reason: REASON }, NOW)
        expect(await record(t, one)).toMatchObject({ state: 'paused', adding: true, reason: REASON })
        await twice(t, one, () => t.store.tasks.endAdding(one.id, PRODUCER, NOW))
        const done = { state: 'done', adding: false, reason: null, finishedAt: NOW }
        expect(await expectExact(t, one)).toMatchObject(done)
      }
      expect(await t.waiting('calls')).toHaveLength(2)
    },
  },
  {
    name: 'a paused task waits for a row that waits for a retry',
    async run(t) {
      const task = await taskWith(t, 1, 1)
      const owner = await t.owner()
      const [only] = await t.fetch(owner, 'q')
      await t.store.tasks.change(task.id, paused, NOW)
      await t.settleAndFetch(owner, { settlements: [postpone(only, 5)] })
      expect(await expectExact(t, task)).toMatchObject({ state: 'paused', inWindow: 0, backlog: 0 })
    },
  },
  {
    name: 'a paused task that was interrupted is interrupted when all its rows have ended, and stays paused after a resume of adding',
    async run(t) {
      const task = await taskWith(t, 1, 2, { open: true })
      await t.store.tasks.endAdding(task.id, PRODUCER, NOW, true)
      await t.store.tasks.change(task.id, { ...paused, reason: REASON }, NOW)
      await work(t, await t.owner())
      expect(await record(t, task)).toMatchObject({ state: 'interrupted', broken: true, finishedAt: null })
      await t.store.tasks.openAdding(task.id, 'producer-2', NOW, PRODUCER)
      expect(await record(t, task)).toMatchObject({ state: 'paused', adding: true, reason: REASON })
      await t.store.tasks.addRows(task.id, 'producer-2', 2, rows(2, 1), NOW)
      await t.store.tasks.endAdding(task.id, 'producer-2', NOW)
      expect(await expectExact(t, task)).toMatchObject({ state: 'paused', backlog: 1, inWindow: 0 })
    },
  },
  {
    name: 'a pause only hides the state interrupted',
    async run(t) {
      const task = await taskWith(t, 1, 1, { open: true })
      await t.store.tasks.endAdding(task.id, PRODUCER, NOW, true)
      expect(await record(t, task)).toMatchObject({ state: 'interrupted', adding: false })
      await t.store.tasks.change(task.id, paused, NOW)
      expect(await record(t, task)).toMatchObject({ state: 'paused' })
      await t.store.tasks.change(task.id, resumed, NOW)
      expect(await record(t, task)).toMatchObject({ state: 'interrupted' })
    },
  },
  {
    name: 'a wider window is filled at once, a narrower one as rows end',
    async run(t) {
      const task = await taskWith(t, 1, 9, { window: 2 })
      expect(await twice(t, task, () => t.store.tasks.change(task.id, { window: 5 }, NOW))).toBe('ok')
      expect(await argsIn(t)).toEqual([[0], [1], [2], [3], [4]])
      await t.store.tasks.change(task.id, { window: 1 }, NOW)
      expect(await expectExact(t, task)).toMatchObject({ window: 1, inWindow: 5, backlog: 4 })
      const owner = await t.owner()
      await work(t, owner, { n: 4 })
      expect(await expectExact(t, task)).toMatchObject({ inWindow: 1, backlog: 4 })
      await work(t, owner, { n: 1 })
      expect(await argsIn(t)).toEqual([[5]])
    },
  },
  {
    name: 'set changes only the given settings',
    async run(t) {
      const task = await taskWith(t, 1, 4, { maxFailures: { rows: 2 } })
      const before = await record(t, task)
      expect(before).toMatchObject({ maxFailures: { rows: 2 }, onMaxFailures: 'pause', reason: null })
      const told = { name: 'jiné jméno', maxFailures: { percent: 2.5 }, onMaxFailures: 'cancel' as const }
      expect(await twice(t, task, () => t.store.tasks.change(task.id, told, NOW))).toBe('ok')
      expect(await record(t, task)).toEqual({ ...before, ...told })
      await t.store.tasks.change(task.id, { maxFailures: null, reason: REASON }, NOW)
      expect(await record(t, task)).toEqual({ ...before, ...told, maxFailures: null, reason: REASON })
      await t.store.tasks.change(task.id, { reason: null }, NOW)
      await t.store.tasks.change(task.id, {}, NOW)
      expect(await record(t, task)).toEqual({ ...before, ...told, maxFailures: null })
      expect(await argsIn(t)).toEqual([[0], [1], [2]])
    },
  },
  {
    name: 'an ended or unknown task does not change',
    async run(t) {
      const task = await taskWith(t, 1, 1)
      await work(t, await t.owner())
      const before = await record(t, task)
      expect(await t.store.tasks.change(task.id, { name: 'late', paused: true }, NOW)).toBe('ended')
      expect(await record(t, task)).toEqual(before)
      expect(await t.store.tasks.change(taskId(9), paused, NOW)).toBe(null)
    },
  },
  {
    name: 'one row more than maxFailures pauses the task in that step, with the reason',
    async run(t) {
      const task = await taskWith(t, 1, 9, { window: 3, maxFailures: { rows: 2 } })
      const owner = await t.owner()
      await work(t, owner, { status: 'failed', n: 2 })
      expect(await expectExact(t, task)).toMatchObject({ state: 'running', reason: null, inWindow: 3 })
      const [third] = await t.fetch(owner, 'q')
      const at = NOW + 7 * SECOND
      await t.settleAndFetch(owner, { now: at, settlements: [finish(third, { status: 'error', at })] })
      const reason = { at, code: 'too-many-failures', params: { rejected: 3, ended: 3 } }
      expect(await expectExact(t, task)).toMatchObject({ state: 'paused', reason, inWindow: 2, backlog: 4 })
      await work(t, owner)
      expect(await t.waiting('q')).toEqual([])
      expect(await expectExact(t, task)).toMatchObject({ state: 'paused', reason, inWindow: 0, backlog: 4 })
    },
  },
  {
    name: 'a new maxFailures does not resume the task; after a resume beyond it the next rejected row pauses again',
    async run(t) {
      const task = await taskWith(t, 1, 9, { window: 1, maxFailures: { rows: 0 } })
      const owner = await t.owner()
      await work(t, owner, { status: 'failed' })
      expect(await record(t, task)).toMatchObject({ state: 'paused' })
      await t.store.tasks.change(task.id, { maxFailures: { rows: 1 } }, NOW)
      expect(await record(t, task)).toMatchObject({ state: 'paused', maxFailures: { rows: 1 } })
      await t.store.tasks.change(task.id, resumed, NOW)
      expect(await record(t, task)).toMatchObject({ state: 'running', reason: null })
      await work(t, owner)
      expect(await record(t, task)).toMatchObject({ state: 'running' })
      await work(t, owner, { status: 'failed' })
      const params = { rejected: 2, ended: 3 }
      expect(await expectExact(t, task)).toMatchObject({
        state: 'paused',
        reason: { code: 'too-many-failures', params },
      })
    },
  },
  {
    name: 'with onMaxFailures cancel a task beyond maxFailures is cancelled: no row is added or enqueued',
    async run(t) {
      const task = await taskWith(t, 1, 6, { window: 2, maxFailures: { rows: 0 }, onMaxFailures: 'cancel', open: true })
      const owner = await t.owner()
      await work(t, owner, { status: 'error', n: 1 })
      const reason = { at: NOW, code: 'too-many-failures', params: { rejected: 1, ended: 1 } }
      expect(await expectExact(t, task)).toMatchObject({
        state: 'cancelling',
        adding: false,
        reason,
        inWindow: 1,
        backlog: 4,
      })
      expect(await t.store.tasks.addRows(task.id, PRODUCER, 6, rows(6, 1), NOW)).toMatchObject({
        ok: false,
        reason: 'ended',
      })
      while (!(await t.store.tasks.cancelRows(task.id, 3, NOW)).done);
      expect(await expectExact(t, task)).toMatchObject({
        state: 'cancelled',
        reason,
        counts: counts({ error: 1, cancelled: 5 }),
      })
    },
  },
  {
    name: 'a share of maxFailures applies from 100 ended rows on',
    async run(t) {
      const task = await taskWith(t, 1, 300, { window: 300, maxFailures: { percent: 5 } })
      const owner = await t.owner()
      await work(t, owner, { status: 'failed', n: 6 })
      await work(t, owner, { n: 93 })
      expect(await record(t, task)).toMatchObject({ state: 'running', counts: { finished: 93, failed: 6 } })
      await work(t, owner, { n: 21 })
      // 5 % of 120 is as much as is tolerated, and 7 of 121 is more.
      expect(await record(t, task)).toMatchObject({ state: 'running', counts: { finished: 114, failed: 6 } })
      await work(t, owner, { status: 'error', n: 1 })
      const params = { rejected: 7, ended: 121 }
      expect(await expectExact(t, task)).toMatchObject({
        state: 'paused',
        reason: { code: 'too-many-failures', params },
      })
    },
  },
  {
    name: 'with fewer rows a share of maxFailures applies to all rows when adding ends',
    async run(t) {
      const task = await taskWith(t, 1, 10, { window: 10, maxFailures: { percent: 20 }, open: true })
      const owner = await t.owner()
      await work(t, owner, { status: 'failed', n: 3 })
      await work(t, owner, { n: 2 })
      expect(await record(t, task)).toMatchObject({ state: 'adding', reason: null })
      await t.store.tasks.endAdding(task.id, PRODUCER, NOW)
      const params = { rejected: 3, ended: 10 }
      expect(await expectExact(t, task)).toMatchObject({
        state: 'paused',
        reason: { code: 'too-many-failures', params },
      })
    },
  },
  {
    name: 'few rejected rows among the first ended ones do not exceed a share while many rows wait',
    async run(t) {
      const task = await taskWith(t, 1, 150, { window: 150, maxFailures: { percent: 2 }, open: true })
      const owner = await t.owner()
      await work(t, owner, { status: 'failed', n: 3 })
      await t.store.tasks.endAdding(task.id, PRODUCER, NOW)
      expect(await expectExact(t, task)).toMatchObject({ state: 'running', reason: null })
      await work(t, owner, { n: 96 })
      expect(await record(t, task)).toMatchObject({ state: 'running' })
      // 3 of 100 is more, from here on.
      await work(t, owner, { n: 1 })
      await work(t, owner, { status: 'failed', n: 1 })
      const params = { rejected: 4, ended: 101 }
      expect(await expectExact(t, task)).toMatchObject({
        state: 'paused',
        reason: { code: 'too-many-failures', params },
      })
    },
  },
  {
    name: 'rows that are refused before they run count towards maxFailures, too',
    async run(t) {
      const task = spec(1, { maxFailures: { rows: 1 } })
      await t.store.tasks.create(task)
      const refused = { args: '[]', rejected: { status: 'failed' as const, code: 'bad', messages: [] } }
      await t.store.tasks.addRows(task.id, PRODUCER, 0, [...rows(0, 1), refused], NOW)
      expect(await record(t, task)).toMatchObject({ state: 'adding', inWindow: 1 })
      await twice(t, task, () => t.store.tasks.addRows(task.id, PRODUCER, 2, [refused, ...rows(3, 2)], NOW))
      expect(await expectExact(t, task)).toMatchObject({ state: 'paused', adding: true, backlog: 2, inWindow: 1 })
    },
  },
  {
    name: 'a repeated effect does not count towards maxFailures again',
    async run(t) {
      const task = await taskWith(t, 1, 4, { window: 4, maxFailures: { rows: 0 } })
      const owner = await t.owner()
      const [first] = await work(t, owner, { status: 'failed', n: 1 })
      if (!first) throw new Error('nothing was taken')
      await t.store.tasks.change(task.id, resumed, NOW)
      await deliver(t, change(first, { status: 'failed' }))
      expect(await record(t, task)).toMatchObject({ state: 'running' })
    },
  },
  {
    name: 'onDone is pushed once in a run, in the step of the last row',
    async run(t) {
      const onDone = { queue: 'calls', template: '{"class":"Told","queue":"calls","retry":3,"tags":["č"]}' }
      const task = await taskWith(t, 0xab, 2, { onDone, open: true })
      const owner = await t.owner()
      const [first, second] = await t.fetch(owner, 'q', 2)
      await t.settleAndFetch(owner, { settlements: [finish(first), finish(second, { status: 'failed' })] })
      expect(await t.waiting('calls')).toEqual([])
      await twice(t, task, () => t.store.tasks.endAdding(task.id, PRODUCER, NOW + 3 * SECOND))
      const told = { class: 'Told', queue: 'calls', retry: 3, tags: ['č'] }
      const call = { ...told, args: [task.id, 1], jid: `${task.id}ff000001`, enqueued_at: NOW + 3 * SECOND }
      expect((await t.waiting('calls')).map((text) => JSON.parse(text) as unknown)).toEqual([call])

      await deliver(t, change(second, { status: 'failed' }))
      await t.settleAndFetch(owner, { started: [] })
      await deliver(t, change(second, { attempt: 2, status: 'working', window: 'keep' }))
      expect(await record(t, task)).toMatchObject({ state: 'running', run: 1 })
      await deliver(t, change(second, { attempt: 2, status: 'finished', window: 'keep' }))
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', run: 1 })
      expect(await t.waiting('calls')).toHaveLength(1)
    },
  },
  {
    name: 'onFailure is pushed once in a run, in the step of the first rejected row',
    async run(t) {
      const onFailure = { queue: 'calls', template: '{"class":"Told","enqueued_at":0.0}' }
      const task = await taskWith(t, 1, 5, { window: 5, onFailure })
      const owner = await t.owner()
      await work(t, owner, { n: 1 })
      const [retried] = await t.fetch(owner, 'q')
      await t.settleAndFetch(owner, { settlements: [postpone(retried, 5)] })
      await work(t, owner, { n: 1, status: 'cancelled' })
      expect(await t.waiting('calls')).toEqual([])
      const [fourth, fifth] = await t.fetch(owner, 'q', 2)
      await t.settleAndFetch(owner, { settlements: [finish(fourth, { status: 'error' })] })
      const call = `{"class":"Told","args":["${task.id}",1],"jid":"${task.id}fe000001","enqueued_at":${NOW / SECOND}.0}`
      expect(await t.waiting('calls')).toEqual([call])
      await t.settleAndFetch(owner, { settlements: [finish(fifth, { status: 'failed' })] })
      await deliver(t, change(fourth, { status: 'error' }))
      expect(await t.waiting('calls')).toEqual([call])
    },
  },
  {
    name: 'a task without rows pushes onDone; a task of refused rows pushes both callbacks',
    async run(t) {
      const told = (queue: string) => ({ queue, template: '{}' })
      const empty = spec(1, { onDone: told('a'), onFailure: told('b') })
      await t.store.tasks.create(empty)
      await t.store.tasks.endAdding(empty.id, PRODUCER, NOW)
      expect([(await t.waiting('a')).length, (await t.waiting('b')).length]).toEqual([1, 0])
      const refused = spec(2, { onDone: told('c'), onFailure: told('d') })
      await t.store.tasks.create(refused)
      const row = { args: '[]', rejected: { status: 'failed' as const, messages: [] } }
      await t.store.tasks.addRows(refused.id, PRODUCER, 0, [row, row], NOW)
      expect([(await t.waiting('c')).length, (await t.waiting('d')).length]).toEqual([0, 1])
      await t.store.tasks.endAdding(refused.id, PRODUCER, NOW)
      expect([(await t.waiting('c')).length, (await t.waiting('d')).length]).toEqual([1, 1])
    },
  },
  {
    name: "a callback in the task's own queue comes after its rows and uses no slot of the window",
    async run(t) {
      const task = await taskWith(t, 1, 3, { window: 2, onFailure: { queue: 'q', template: '{"class":"Told"}' } })
      const owner = await t.owner()
      await work(t, owner, { n: 1, status: 'failed' })
      expect(await argsIn(t)).toEqual([[1], [2], [task.id, 1]])
      expect(await expectExact(t, task)).toMatchObject({ inWindow: 2 })
      expect(await eventOf(t, task, 2)).toMatchObject({ location: 'window' })
    },
  },
  {
    name: 'the start of a row of a paused task is recorded like any other',
    async run(t) {
      const task = await taskWith(t, 1, 1)
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      await t.store.tasks.change(task.id, paused, NOW)
      expect((await t.settleAndFetch(owner, { started: [begin(first)] })).started).toEqual(['ok'])
      expect(await expectExact(t, task)).toMatchObject({ state: 'paused', counts: counts({ working: 1 }) })
    },
  },
]
