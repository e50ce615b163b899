import { expect } from 'vitest'
import type { NewRow, RetryRow } from '#dist/store/contract.js'
import { type Bench, type Case, done, NOW, sure, toQueue } from '../bench.ts'
import {
  argsIn,
  begin,
  change,
  counts,
  deliver,
  eventOf,
  expectExact,
  finish,
  jidOf,
  moveToDead,
  PRODUCER,
  payloadOf,
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
const indexes = (...some: number[]): RetryRow[] => some.map((index) => ({ index }))

/** Begins the next run and ends putting rows back. */
async function run(t: Bench, task: { id: string }, retried: RetryRow[]): Promise<('ok' | 'gone' | 'dropped')[]> {
  const { run: last } = await record(t, task)
  const producer = await t.owner()
  expect(await t.store.tasks.startRun(task.id, last, producer, NOW)).toBe('ok')
  const answers = await t.store.tasks.retryRows(task.id, last + 1, retried, NOW)
  expect(await t.store.tasks.endAdding(task.id, producer, NOW)).toMatchObject({ ok: true })
  return answers
}

/** Rejected rows run again, in the next run of their task. */
export const taskRuns: Case[] = [
  {
    name: 'the next run starts once: a repeat gets the same run, another caller is refused',
    async run(t) {
      const task = await taskWith(t, 1, 1)
      await work(t, await t.owner(), { status: 'failed' })
      expect(await record(t, task)).toMatchObject({ state: 'done', run: 1 })
      const [producer, other] = [await t.owner(), await t.owner()]
      expect(await twice(t, task, () => t.store.tasks.startRun(task.id, 1, producer, NOW))).toBe('ok')
      expect(await record(t, task)).toMatchObject({ run: 2, adding: true, state: 'adding', finishedAt: null })
      expect(await t.store.tasks.startRun(task.id, 1, other, NOW)).toBe('gone')
      expect(await t.store.tasks.startRun(task.id, 3, other, NOW)).toBe('gone')
      expect(await t.store.tasks.startRun(taskId(9), 1, other, NOW)).toBe(null)
      await twice(t, task, () => t.store.tasks.endAdding(task.id, producer, NOW + SECOND))
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', run: 2, finishedAt: NOW + SECOND })
      expect(await t.store.tasks.startRun(task.id, 2, other, NOW)).toBe('ok')
      expect(await record(t, task)).toMatchObject({ run: 3 })
    },
  },
  {
    name: 'a run begins with some of the rows that it is given, in one step, or not at all',
    async run(t) {
      const onDone = { queue: 'calls', template: '{}' }
      const task = await taskWith(t, 1, 150, { keepArgs: 'none', window: 150, onDone })
      const owner = await t.owner()
      for (const status of ['failed', 'finished', 'error'] as const) await work(t, owner, { n: 50, status })
      const before = await expectExact(t, task)
      const [producer, other] = [await t.owner(), await t.owner()]
      const start = (retried: RetryRow[], by = producer) => t.store.tasks.startRun(task.id, 1, by, NOW, retried)
      expect(await start(indexes(...Array(150).keys(), 999))).toBe('empty')
      expect(await expectExact(t, task)).toEqual(before)

      const given = Array.from({ length: 150 }, (_, index) => (index < 120 ? { index } : { index, args: `[${index}]` }))
      expect(await twice(t, task, () => start(given))).toBe('ok')
      expect(await start(given, other)).toBe('gone')
      const begun = await expectExact(t, task)
      expect(begun).toMatchObject({ state: 'adding', run: 2, endedBefore: 150 - begun.counts.enqueued })
      expect(begun.counts.enqueued).toBeGreaterThan(0)
      const answers = [...Array(50).fill('dropped'), ...Array(50).fill('gone'), ...Array(20).fill('dropped')]
      expect(await t.store.tasks.retryRows(task.id, 2, given, NOW)).toEqual([...answers, ...Array(30).fill('ok')])
      await t.store.workers.claim(producer)
      expect(await expectExact(t, task)).toMatchObject({ state: 'running', counts: { enqueued: 30 }, endedBefore: 120 })
      expect(await t.waiting('calls')).toHaveLength(1)
      await work(t, owner, { n: 30 })
      expect(await expectExact(t, task)).toMatchObject({ state: 'done' })
      expect(await t.waiting('calls')).toHaveLength(2)
    },
  },
  {
    name: 'a dead entry goes in the step that begins a run with its row',
    async run(t) {
      const task = await taskWith(t, 1, 2)
      const owner = await t.owner()
      const taken = await t.fetch(owner, 'q', 2)
      await t.settleAndFetch(owner, { settlements: taken.map((one, i) => moveToDead(one, 5 + i)) })
      const [zero, one] = await t.store.jobSets.page('dead', { limit: 9 })
      const retried = [{ index: 0, dead: sure(zero) }]
      expect(await t.store.tasks.startRun(task.id, 1, await t.owner(), NOW, retried)).toBe('ok')
      expect(await t.store.jobSets.page('dead', { limit: 9 })).toEqual([one])
      expect(await expectExact(t, task)).toMatchObject({ run: 2, counts: counts({ enqueued: 1, error: 1 }) })
    },
  },
  {
    name: 'a rejected row is retried: same event, next run, and its messages stay',
    async run(t) {
      const task = await taskWith(t, 1, 3)
      const owner = await t.owner()
      const messages = [{ at: NOW, code: 'refused', params: { field: 'cena' } }]
      await work(t, owner, { n: 1 })
      await work(t, owner, { n: 2, status: 'failed', code: 'no', messages, attempt: 3, startedAt: NOW })
      const producer = await t.owner()
      await t.store.tasks.startRun(task.id, 1, producer, NOW)
      const put = () => t.store.tasks.retryRows(task.id, 2, indexes(2), NOW + SECOND)
      expect(await twice(t, task, put)).toEqual(['ok'])
      expect(await eventOf(t, task, 2)).toEqual({
        index: 2,
        jid: jidOf(task.id, 2),
        number: null,
        job: null,
        location: 'window',
        status: 'enqueued',
        run: 2,
        attempts: 0,
        args: '[2]',
        source: null,
        code: null,
        startedAt: null,
        finishedAt: null,
        result: null,
        messages,
      })
      expect(await expectExact(t, task)).toMatchObject({ counts: counts({ finished: 1, failed: 1, enqueued: 1 }) })
      await t.store.tasks.endAdding(task.id, producer, NOW)
      expect(await record(t, task)).toMatchObject({ state: 'running', run: 2 })
      const [again] = await t.fetch(owner, 'q', 9)
      expect(payloadOf(again)).toMatchObject({
        args: [2],
        jid: jidOf(task.id, 2),
        hk_run: 2,
        enqueued_at: NOW + SECOND,
      })
      expect((await t.settleAndFetch(owner, { started: [begin(again)] })).started).toEqual(['ok'])
      await t.settleAndFetch(owner, { settlements: [finish(again)] })
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', counts: counts({ finished: 2, failed: 1 }) })
      expect(await put()).toEqual(['ok'])
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', counts: counts({ finished: 2, failed: 1 }) })
    },
  },
  {
    name: 'rows that are not rejected, and unknown rows, stay unchanged',
    async run(t) {
      const task = await taskWith(t, 1, 5, { window: 3 })
      const owner = await t.owner()
      await work(t, owner, { n: 1 })
      const [second] = await t.fetch(owner, 'q')
      await t.settleAndFetch(owner, { started: [begin(second)] })
      await t.store.tasks.startRun(task.id, 1, await t.owner(), NOW)
      const before = await expectExact(t, task)
      expect(await t.store.tasks.retryRows(task.id, 2, indexes(0, 1, 2, 4, 7), NOW)).toEqual(Array(5).fill('gone'))
      expect(await t.store.tasks.retryRows(task.id, 1, indexes(0), NOW)).toEqual(['gone'])
      expect(await t.store.tasks.retryRows(task.id, 3, indexes(0), NOW)).toEqual(['gone'])
      expect(await t.store.tasks.retryRows(taskId(9), 1, indexes(0), NOW)).toEqual(['gone'])
      expect(await expectExact(t, task)).toEqual(before)
    },
  },
  {
    name: 'failed, error and cancelled rows are retried as selected, each once',
    async run(t) {
      const task = await taskWith(t, 1, 6, { window: 6 })
      const owner = await t.owner()
      for (const status of ['failed', 'error', 'cancelled', 'finished', 'failed', 'error'] as const) {
        await work(t, owner, { n: 1, status, code: `code ${status}` })
      }
      expect(await run(t, task, indexes(0, 1, 2, 3))).toEqual(['ok', 'ok', 'ok', 'gone'])
      expect(await argsIn(t)).toEqual([[0], [1], [2]])
      expect(await expectExact(t, task)).toMatchObject({
        state: 'running',
        counts: counts({ enqueued: 3, finished: 1, failed: 1, error: 1 }),
      })
    },
  },
  {
    name: 'retried rows beyond the window wait behind the backlog, in order',
    async run(t) {
      const task = await taskWith(t, 1, 8, { window: 2 })
      const owner = await t.owner()
      await work(t, owner, { status: 'failed' })
      await work(t, owner, { status: 'failed' })
      expect(await argsIn(t)).toEqual([[4], [5]])
      expect(await run(t, task, indexes(3, 0, 1))).toEqual(['ok', 'ok', 'ok'])
      expect(await expectExact(t, task)).toMatchObject({ inWindow: 2, backlog: 5 })
      const seen: unknown[] = []
      for (let taken = await work(t, owner, { n: 1 }); taken.length > 0; taken = await work(t, owner, { n: 1 })) {
        seen.push(payloadOf(sure(taken[0])).args[0])
        await expectExact(t, task)
      }
      expect(seen).toEqual([4, 5, 6, 7, 3, 0, 1])
      expect(await record(t, task)).toMatchObject({ state: 'done', counts: counts({ finished: 7, failed: 1 }) })
    },
  },
  {
    name: 'retried rows get new arguments; rows whose arguments are gone are reported as dropped',
    async run(t) {
      const task = spec(1, { keepArgs: 'none', window: 4 })
      await t.store.tasks.create(task)
      await t.store.tasks.addRows(task.id, PRODUCER, 0, [{ args: '[0]', source: '{"a":0}' }, { args: '[1]' }], NOW)
      await t.store.tasks.endAdding(task.id, PRODUCER, NOW)
      const owner = await t.owner()
      await work(t, owner, { status: 'failed' })
      const producer = await t.owner()
      await t.store.tasks.startRun(task.id, 1, producer, NOW)
      const corrected = [{ index: 0, args: '[ 9.0 ]', source: '{"a":9.0}' }, { index: 1 }]
      expect(await twice(t, task, () => t.store.tasks.retryRows(task.id, 2, corrected, NOW))).toEqual(['ok', 'dropped'])
      expect(await eventOf(t, task, 0)).toMatchObject({ args: '[ 9.0 ]', source: '{"a":9.0}', status: 'enqueued' })
      expect(await eventOf(t, task, 1)).toMatchObject({ args: null, status: 'failed', run: 1 })
      const [text = ''] = await t.waiting('q')
      expect(text).toContain('"args":[ 9.0 ],')
      expect(await t.store.tasks.retryRows(task.id, 2, [{ index: 1, args: '{"class":"Own","args":[]}' }], NOW)).toEqual(
        ['ok'],
      )
      expect((await t.waiting('q'))[1]).toContain('"class":"Own"')
      await t.store.tasks.endAdding(task.id, producer, NOW)
      expect(await expectExact(t, task)).toMatchObject({ state: 'running', inWindow: 2 })
    },
  },
  {
    name: 'the dead entry of a row is deleted in the step that retries it, and only then',
    async run(t) {
      const task = await taskWith(t, 1, 3)
      const owner = await t.owner()
      const taken = await t.fetch(owner, 'q', 3)
      await t.settleAndFetch(owner, { settlements: taken.map((one, i) => moveToDead(one, 5 + i)) })
      const [zero, one, two] = await t.store.jobSets.page('dead', { limit: 9 })
      const dead = [
        { index: 0, dead: sure(zero) },
        { index: 1, dead: { ...sure(one), score: 99 } },
        { index: 9, dead: sure(two) },
      ]
      const producer = await t.owner()
      await t.store.tasks.startRun(task.id, 1, producer, NOW)
      expect(await twice(t, task, () => t.store.tasks.retryRows(task.id, 2, dead.slice(0, 2), NOW))).toEqual([
        'ok',
        'ok',
      ])
      expect(await t.store.tasks.retryRows(task.id, 2, dead.slice(2), NOW)).toEqual(['gone'])
      expect(await t.store.jobSets.page('dead', { limit: 9 })).toEqual([one, two])
      expect(await t.store.jobSets.size('dead')).toBe(2)
    },
  },
  {
    name: 'a job of an older run is superseded and has no effect',
    async run(t) {
      const task = await taskWith(t, 1, 1, { window: 3 })
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      await t.settleAndFetch(owner, { settlements: [moveToDead(first, 5)] })
      await run(t, task, indexes(0))
      const swap = (effects = [change(first, { status: 'enqueued', window: 'enter' })]) => ({
        text: first.text,
        score: 5,
        to: toQueue('p', first.text),
        effects,
      })
      expect(await t.store.jobSets.swap('dead', [swap()], NOW)).toEqual(['ok'])
      const before = await expectExact(t, task)
      expect(before).toMatchObject({ inWindow: 1, counts: counts({ enqueued: 1 }) })
      const [old] = await t.fetch(owner, 'p')
      expect((await t.settleAndFetch(owner, { started: [begin(old, { attempt: 9 })] })).started).toEqual(['superseded'])
      await t.settleAndFetch(owner, { settlements: [finish(old, { attempt: 9 })] })
      expect(await expectExact(t, task)).toEqual(before)
      await work(t, owner)
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', counts: counts({ finished: 1 }) })
    },
  },
  {
    name: 'a run may start while the previous one continues: running rows belong to the new one',
    async run(t) {
      const task = await taskWith(t, 1, 3, { window: 3 })
      const owner = await t.owner()
      const [first, second, third] = await t.fetch(owner, 'q', 3)
      await t.settleAndFetch(owner, { settlements: [finish(first, { status: 'failed' })], started: [begin(second)] })
      await run(t, task, indexes(0))
      expect(await expectExact(t, task)).toMatchObject({ state: 'running', run: 2, inWindow: 3 })
      await t.settleAndFetch(owner, { settlements: [finish(second), finish(third)] })
      await work(t, owner)
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', run: 2, counts: counts({ finished: 3 }) })
    },
  },
  {
    name: 'each run pushes onDone once, and onFailure once',
    async run(t) {
      const called = async () => (await t.waiting('calls')).map((text) => payloadOf({ text }).jid.slice(16))
      const told = { queue: 'calls', template: '{}' }
      const task = await taskWith(t, 1, 2, { onDone: told, onFailure: told })
      const owner = await t.owner()
      await work(t, owner, { status: 'failed' })
      expect(await called()).toEqual(['fe000001', 'ff000001'])
      await run(t, task, indexes(0))
      await work(t, owner, { status: 'failed' })
      await run(t, task, indexes(0, 1))
      await work(t, owner)
      await run(t, task, [])
      expect(await called()).toEqual(['fe000001', 'ff000001', 'fe000002', 'ff000002', 'ff000003', 'ff000004'])
    },
  },
  {
    name: 'a row of an earlier run that is rejected later pushes onFailure for its own run only',
    async run(t) {
      const called = async () => (await t.waiting('calls')).map((text) => payloadOf({ text }).jid.slice(16))
      const task = await taskWith(t, 1, 3, { onFailure: { queue: 'calls', template: '{}' } })
      const owner = await t.owner()
      const [first, second, third] = await t.fetch(owner, 'q', 3)
      await t.settleAndFetch(owner, { started: [begin(second), begin(third)] })
      await t.settleAndFetch(owner, { settlements: [finish(first, { status: 'cancelled' })] })
      // Two rows of run 1 still run when run 2 begins.
      expect(await run(t, task, indexes(0))).toEqual(['ok'])
      expect(await called()).toEqual([])
      await t.settleAndFetch(owner, { settlements: [finish(second, { status: 'failed' })] })
      expect(await called()).toEqual(['fe000001'])
      await t.settleAndFetch(owner, { settlements: [finish(third, { status: 'failed' })] })
      expect(await called()).toEqual(['fe000001'])
      await work(t, owner, { status: 'failed' })
      expect(await called()).toEqual(['fe000001', 'fe000002'])
    },
  },
  {
    name: 'the death of a retrying process ends its retry, and interrupts nothing',
    async run(t) {
      const task = await taskWith(t, 1, 2)
      const owner = await t.owner()
      await work(t, owner, { status: 'failed' })
      const producer = await t.owner()
      await t.store.tasks.startRun(task.id, 1, producer, NOW)
      await t.store.tasks.retryRows(task.id, 2, indexes(0), NOW)
      await t.store.workers.claim(producer)
      expect(await expectExact(t, task)).toMatchObject({ state: 'running', adding: false, run: 2 })
      await work(t, owner)
      expect(await record(t, task)).toMatchObject({ state: 'done' })
      const next = await t.owner()
      await t.store.tasks.startRun(task.id, 2, next, NOW)
      await t.store.workers.claim(next)
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', run: 3 })
      expect((await record(t, task)).finishedAt).toBeTypeOf('number')
    },
  },
  {
    name: 'a cancelled task runs again with its retried rows; the others stay cancelled',
    async run(t) {
      const onDone = { queue: 'calls', template: '{}' }
      const task = await taskWith(t, 1, 6, { window: 2, onDone })
      const owner = await t.owner()
      const [first, second] = await t.fetch(owner, 'q', 2)
      await t.settleAndFetch(owner, { settlements: [postpone(first, 5)] })
      await t.store.tasks.cancel(task.id, REASON, NOW)
      const producer = await t.owner()
      expect(await t.store.tasks.startRun(task.id, 1, producer, NOW)).toBe('cancelling')
      await t.store.tasks.cancelRows(task.id, 20, NOW)
      expect(await record(t, task)).toMatchObject({ state: 'cancelled' })
      expect(await run(t, task, indexes(0, 1, 4, 5))).toEqual(['ok', 'ok', 'ok', 'ok'])
      expect(await expectExact(t, task)).toMatchObject({
        state: 'running',
        reason: null,
        finishedAt: null,
        inWindow: 2,
        backlog: 2,
        counts: counts({ enqueued: 4, cancelled: 2 }),
      })
      // What is left of the first run goes unrun.
      expect((await t.settleAndFetch(owner, { started: [begin(second)] })).started).toEqual(['superseded'])
      await t.settleAndFetch(owner, { settlements: [done(second)] })
      const [third] = await t.fetch(owner, 'q')
      expect(payloadOf(third)).toMatchObject({ args: [2], hk_run: 1 })
      expect((await t.settleAndFetch(owner, { started: [begin(third)] })).started).toEqual(['superseded'])
      await t.settleAndFetch(owner, { settlements: [finish(third)] })
      const seen: unknown[] = []
      for (let taken = await work(t, owner); taken.length > 0; taken = await work(t, owner)) {
        seen.push(...taken.map((one) => payloadOf(one).args[0]))
      }
      expect(seen).toEqual([0, 1, 4, 5])
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', counts: counts({ finished: 4, cancelled: 2 }) })
      expect(await t.waiting('calls')).toHaveLength(2)
    },
  },
  {
    name: 'an interrupted task is interrupted again after a retry, because rows are still missing',
    async run(t) {
      const task = await taskWith(t, 1, 2, { open: true })
      await t.store.tasks.endAdding(task.id, PRODUCER, NOW, true)
      await work(t, await t.owner(), { status: 'failed' })
      expect(await record(t, task)).toMatchObject({ state: 'interrupted' })
      await run(t, task, indexes(1))
      expect(await record(t, task)).toMatchObject({ state: 'interrupted', run: 2, broken: true })
      await work(t, await t.owner())
      expect(await expectExact(t, task)).toMatchObject({
        state: 'interrupted',
        counts: counts({ finished: 1, failed: 1 }),
      })
      await t.store.tasks.openAdding(task.id, 'producer-2', NOW, PRODUCER)
      expect(await t.store.tasks.addRows(task.id, 'producer-2', 2, rows(2, 1), NOW)).toEqual({ ok: true, total: 3 })
      await t.store.tasks.endAdding(task.id, 'producer-2', NOW)
      await work(t, await t.owner())
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', run: 2, total: 3 })
    },
  },
  {
    name: 'a run has its start, and the number of rows that had ended before it',
    async run(t) {
      const task = await taskWith(t, 1, 6, { window: 6 })
      expect(await record(t, task)).toMatchObject({ run: 1, runAt: NOW, endedBefore: 0 })
      const owner = await t.owner()
      await work(t, owner, { n: 2 })
      await work(t, owner, { n: 3, status: 'failed' })
      await work(t, owner, { n: 1, status: 'error' })
      expect(await record(t, task)).toMatchObject({ runAt: NOW, endedBefore: 0 })
      const producer = await t.owner()
      const at = NOW + 60_000
      await t.store.tasks.startRun(task.id, 1, producer, at)
      await t.store.tasks.startRun(task.id, 1, producer, at + 1)
      expect(await record(t, task)).toMatchObject({ run: 2, runAt: at, endedBefore: 6 })
      for (let i = 0; i < 2; i++)
        await t.store.tasks.retryRows(
          task.id,
          2,
          [0, 2, 3, 5].map((index) => ({ index })),
          at,
        )
      await t.store.tasks.endAdding(task.id, producer, at)
      expect(await record(t, task)).toMatchObject({ run: 2, runAt: at, endedBefore: 3 })
      await work(t, owner)
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', runAt: at, endedBefore: 3 })
    },
  },
  {
    name: 'rows are found by their indexes in any state, in order and each once',
    async run(t) {
      const task = await taskWith(t, 1, 5, { window: 2 })
      await work(t, await t.owner(), { n: 1, status: 'failed' })
      const those = await t.store.tasks.events(task.id, { indexes: [4, 0, 99, 4, 1], limit: 10 })
      expect(those.map(({ index, status, args }) => [index, status, args])).toEqual([
        [0, 'failed', '[0]'],
        [1, 'enqueued', '[1]'],
        [4, 'enqueued', '[4]'],
      ])
      expect(await t.store.tasks.events(task.id, { indexes: [4, 3], limit: 1 })).toMatchObject([{ index: 3 }])
      expect(await t.store.tasks.events(task.id, { indexes: [], limit: 10 })).toEqual([])
      expect(await t.store.tasks.events(taskId(9), { indexes: [0], limit: 10 })).toEqual([])
    },
  },
  {
    name: 'a paused task stays paused when a run starts: its rows wait',
    async run(t) {
      const task = await taskWith(t, 1, 2, { maxFailures: { rows: 0 }, window: 1 })
      await work(t, await t.owner(), { status: 'failed' })
      expect(await record(t, task)).toMatchObject({ state: 'paused' })
      await run(t, task, indexes(0))
      expect(await expectExact(t, task)).toMatchObject({ state: 'paused', backlog: 2, inWindow: 0, run: 2 })
      expect((await record(t, task)).reason).toMatchObject({ code: 'too-many-failures' })
      await t.store.tasks.change(task.id, { paused: false }, NOW)
      expect(await argsIn(t)).toEqual([[1]])
    },
  },
  {
    name: 'only rows that are rejected in a run pause it, not earlier ones',
    async run(t) {
      for (const [n, tolerance] of ([{ rows: 1 }, { percent: 10 }] as const).entries()) {
        const queue = `q${n}`
        const task = await taskWith(t, n + 1, 4, { window: 4, queue, open: true })
        const owner = await t.owner({ queues: [queue] })
        await work(t, owner, { queue, status: 'failed' })
        await t.store.tasks.endAdding(task.id, PRODUCER, NOW)
        expect(await record(t, task)).toMatchObject({ state: 'done' })
        const producer = await t.owner()
        await t.store.tasks.startRun(task.id, 1, producer, NOW)
        await t.store.tasks.change(task.id, { maxFailures: tolerance }, NOW)
        await t.store.tasks.retryRows(task.id, 2, indexes(0, 1), NOW)
        await t.store.tasks.endAdding(task.id, producer, NOW)
        expect(await expectExact(t, task)).toMatchObject({ state: 'running', inWindow: 2 })
        await work(t, owner, { queue, n: 1, status: 'failed' })
        // A share of so few rows says nothing.
        expect(await record(t, task)).toMatchObject({ state: 'rows' in tolerance ? 'paused' : 'running' })
      }
    },
  },
  {
    name: 'rows that are added in a later run are of that run',
    async run(t) {
      const task = await taskWith(t, 1, 1)
      const owner = await t.owner()
      await work(t, owner, { status: 'failed' })
      const producer = await t.owner()
      await t.store.tasks.startRun(task.id, 1, producer, NOW)
      await t.store.tasks.retryRows(task.id, 2, indexes(0), NOW)
      await t.store.tasks.addRows(task.id, 'row:0:2', 0, rows(1, 1), NOW)
      expect(await eventOf(t, task, 1)).toMatchObject({ run: 2 })
      const [, text = ''] = await t.waiting('q')
      expect(payloadOf({ text }).hk_run).toBe(2)
      await expectExact(t, task)
    },
  },
  {
    name: 'a row keeps its cursor in a later run, except with new arguments; its earlier run may not add rows any more',
    async run(t) {
      const task = await taskWith(t, 1, 2, { open: true })
      const owner = await t.owner()
      const add = (index: number, run: number, from: number, chunk: NewRow[]) =>
        t.store.tasks.addRows(task.id, `row:${index}:${run}`, from, chunk, NOW)
      await work(t, owner, { status: 'failed' })
      for (const index of [0, 1]) await twice(t, task, () => add(index, 1, 0, rows(10 * (index + 1), 2)))
      await t.store.tasks.startRun(task.id, 1, await t.owner(), NOW)
      const retried = [{ index: 0 }, { index: 1, args: '[7]' }]
      await twice(t, task, () => t.store.tasks.retryRows(task.id, 2, retried, NOW))
      const late = { ok: false, reason: 'taken-over' }
      for (const index of [0, 1]) expect(await add(index, 1, 2, rows(99, 1))).toMatchObject(late)
      for (const index of [0, 1]) expect(await add(index, 1, 0, rows(99, 1))).toMatchObject(late)

      expect(await add(0, 2, 0, rows(10, 2))).toEqual({ ok: true, total: 6 })
      expect(await twice(t, task, () => add(0, 2, 2, rows(12, 1)))).toEqual({ ok: true, total: 7 })
      expect(await twice(t, task, () => add(1, 2, 0, rows(30, 1)))).toEqual({ ok: true, total: 8 })
      const args = (await t.store.tasks.events(task.id, { limit: 9 })).map((event) => event.args)
      expect(args).toEqual(['[0]', '[7]', '[10]', '[11]', '[20]', '[21]', '[12]', '[30]'])
      await expectExact(t, task)
    },
  },
  {
    name: 'a row that was refused before it ran is retried like any other',
    async run(t) {
      const task = spec(1, { window: 2 })
      await t.store.tasks.create(task)
      const refused = { args: '[1]', rejected: { status: 'failed' as const, code: 'bad', messages: [] } }
      await t.store.tasks.addRows(
        task.id,
        PRODUCER,
        0,
        [...rows(0, 1), refused, ...rows(2, 3), { ...refused, args: '[5]' }],
        NOW,
      )
      await t.store.tasks.endAdding(task.id, PRODUCER, NOW)
      expect(await run(t, task, [{ index: 1, args: '["ok"]' }, { index: 5 }])).toEqual(['ok', 'ok'])
      await expectExact(t, task)
      const owner = await t.owner()
      const seen: unknown[] = []
      for (let taken = await work(t, owner, { n: 1 }); taken.length > 0; taken = await work(t, owner, { n: 1 })) {
        seen.push(payloadOf(sure(taken[0])).args[0])
        await expectExact(t, task)
      }
      expect(seen).toEqual([0, 2, 3, 4, 'ok', 5])
      expect(await record(t, task)).toMatchObject({ state: 'done', counts: counts({ finished: 6 }) })
    },
  },
  {
    name: 'a late end of the previous attempt is superseded by the new run',
    async run(t) {
      const task = await taskWith(t, 1, 1)
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      await t.store.tasks.changeEvents([change(first, { status: 'error', code: 'lost' })], NOW)
      await run(t, task, indexes(0))
      const before = await eventOf(t, task, 0)
      await t.settleAndFetch(owner, { settlements: [finish(first)] })
      await deliver(t, change(first, { attempt: 4, status: 'failed' }))
      expect(await eventOf(t, task, 0)).toEqual(before)
      expect(await expectExact(t, task)).toMatchObject({ inWindow: 1, counts: counts({ enqueued: 1 }) })
    },
  },
]
