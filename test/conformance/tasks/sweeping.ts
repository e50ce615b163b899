import type { CodeFilter, NewRow } from 'highkiq/store'
import { expect } from 'vitest'
import { type Case, NOW, sure } from '../bench.ts'
import {
  allOf,
  argsIn,
  begin,
  change,
  counts,
  eventOf,
  expectExact,
  finish,
  idleTasks,
  jidOf,
  moveToDead,
  PRODUCER,
  payloadOf,
  postpone,
  record,
  rows,
  spec,
  taskId,
  taskWith,
  twice,
  work,
} from './tracked.ts'

const SECOND = 1000
const HOUR = 3600 * SECOND
const DAY = 24 * HOUR

/** What is found lost, why rows were rejected, and the end of what is not needed any more. */
export const taskSweeping: Case[] = [
  {
    name: 'a task without progress is idle only while it has open rows',
    async run(t) {
      const open = await taskWith(t, 1, 2, { queue: 'a', createdAt: NOW })
      const ended = await taskWith(t, 2, 1, { queue: 'b', createdAt: NOW })
      const empty = spec(3, { createdAt: NOW })
      await t.store.tasks.create(empty)
      const owner = await t.owner({ queues: ['a', 'b'] })
      await work(t, owner, { queue: 'b' })
      expect(await record(t, ended)).toMatchObject({ state: 'done' })
      const idle = async (before: number) => (await idleTasks(t, before)).map(({ id }) => id)
      expect(await idle(NOW - SECOND)).toEqual([])
      expect(await idle(NOW + SECOND)).toEqual([open.id])
      expect(await idleTasks(t, NOW + SECOND)).toEqual([await record(t, open)])
      const [first] = await t.fetch(owner, 'a')
      await t.settleAndFetch(owner, { now: NOW + HOUR, started: [begin(first)] })
      expect(await idle(NOW + SECOND)).toEqual([])
      expect(await idle(NOW + HOUR + SECOND)).toEqual([open.id])
    },
  },
  {
    name: 'a task that is being cancelled is listed as cancelling until it is cancelled, and is not idle',
    async run(t) {
      const task = await taskWith(t, 1, 2)
      await t.store.tasks.cancel(task.id, null, NOW)
      expect(await t.store.tasks.cancelling({ limit: 10 })).toEqual({ items: [task.id], next: null })
      expect(await idleTasks(t, NOW + DAY)).toEqual([])
      await t.store.tasks.cancelRows(task.id, 10, NOW)
      expect(await record(t, task)).toMatchObject({ state: 'cancelled' })
      expect(await t.store.tasks.cancelling({ limit: 10 })).toEqual({ items: [], next: null })
      expect(await idleTasks(t, NOW + DAY)).toEqual([])
    },
  },
  {
    name: 'tasks that are being cancelled are listed page by page, each once, among any number of others',
    async run(t) {
      const ids: string[] = []
      for (let n = 1; n <= 12; n++) {
        const { id } = await taskWith(t, n, n % 5, { queue: `q${n % 3}` })
        if (n % 4 === 0) continue
        const isOpen = (await t.store.tasks.cancel(id, null, NOW)) === 'ok' && n % 5 > 0
        if (isOpen) ids.push(id)
      }
      for (const limit of [1, 2, 3, 100]) {
        const found = await allOf((after) => t.store.tasks.cancelling({ after, limit }))
        expect(found.toSorted()).toEqual(ids)
      }
    },
  },
  {
    name: 'a task whose progress or creation is far ahead is listed until it has progress again; a scheduled job is not',
    async run(t) {
      const AHEAD = NOW + 365 * DAY
      const [late, created] = [await taskWith(t, 1, 3), await taskWith(t, 2, 1, { queue: 'p', createdAt: AHEAD })]
      const usual = await taskWith(t, 3, 1, { queue: 'p' })
      const cancelled = await taskWith(t, 4, 1, { queue: 'p', createdAt: AHEAD })
      await t.store.tasks.cancel(cancelled.id, null, AHEAD)
      const task = spec(5, { single: true, createdAt: AHEAD, window: 1 })
      const text = JSON.stringify({ class: 'J', args: [], jid: jidOf(task.id, 0), hk_task: task.id, hk_run: 1 })
      await t.store.tasks.pushTracked([{ task, item: { to: 'schedule', text, score: AHEAD / SECOND + 60 } }], AHEAD)
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      await t.settleAndFetch(owner, { now: AHEAD, started: [begin(first)] })
      for (const limit of [1, 2, 100]) {
        const ahead = await allOf((after) => t.store.tasks.ahead(NOW + HOUR, { after, limit }))
        expect(ahead.map(({ id }) => id).toSorted()).toEqual([late.id, created.id])
      }
      expect(await allOf((after) => t.store.tasks.ahead(AHEAD + SECOND, { after, limit: 9 }))).toEqual([])

      // A repeated change of a row is progress. It changes nothing else.
      for (const [one, status] of [
        [late, 'working'],
        [created, 'enqueued'],
      ] as const) {
        const before = await expectExact(t, one)
        const event = await eventOf(t, one, 0)
        const { jid, run, attempts: attempt, startedAt } = event
        const at = startedAt ?? NOW
        await t.store.tasks.changeEvents([{ kind: 'event', jid, run, attempt, status, window: 'keep', at }], NOW)
        expect(await eventOf(t, one, 0)).toEqual(event)
        expect(await expectExact(t, one)).toEqual({ ...before, progressAt: NOW })
      }
      expect(await allOf((after) => t.store.tasks.ahead(NOW + HOUR, { after, limit: 9 }))).toEqual([])
      expect((await idleTasks(t, NOW + SECOND)).map(({ id }) => id).toSorted()).toEqual(
        [late, created, usual].map(({ id }) => id),
      )
    },
  },
  {
    name: 'idle tasks are listed page by page, each once, among any number of others',
    async run(t) {
      const ids: string[] = []
      for (let n = 1; n <= 12; n++) {
        const queue = `q${n % 3}`
        const createdAt = n % 4 === 0 ? NOW + DAY : NOW
        const { id } = await taskWith(t, n, n === 7 ? 0 : 1, { queue, createdAt })
        if (n % 4 !== 0 && n !== 7) ids.push(id)
      }
      for (const limit of [1, 2, 3, 100]) {
        const found = (await idleTasks(t, NOW + SECOND, limit)).map(({ id }) => id)
        expect(found.toSorted()).toEqual(ids)
      }
    },
  },
  {
    name: 'a scheduled tracked job is idle from its due time on, or from its move to the queue before that',
    async run(t) {
      const single = (n: number, at: number) => {
        const task = spec(n, { single: true, createdAt: NOW, window: 1 })
        const text = JSON.stringify({ class: 'J', args: [n], jid: jidOf(task.id, 0), hk_task: task.id, hk_run: 1 })
        return { task, item: { to: 'schedule' as const, text, score: at / 1000 } }
      }
      const [late, soon] = [single(1, NOW + DAY), single(2, NOW + HOUR)]
      await t.store.tasks.pushTracked([late, soon], NOW)
      const idle = async (before: number) => (await idleTasks(t, before)).map(({ id }) => id).sort()
      expect(await idle(NOW + SECOND)).toEqual([])
      expect(await idle(NOW + HOUR + SECOND)).toEqual([soon.task.id])
      expect(await idle(NOW + DAY + SECOND)).toEqual([late.task.id, soon.task.id])
      const { text, score } = late.item
      const effects = [change({ text }, { status: 'enqueued', window: 'enter', attempt: 0, at: NOW + 2 * HOUR })]
      const to = { to: 'queue' as const, queue: 'q', text, end: 'back' as const }
      expect(await t.store.jobSets.swap('schedule', [{ text, score, to, effects }], NOW + 2 * HOUR)).toEqual(['ok'])
      expect(await idle(NOW + 2 * HOUR + SECOND)).toEqual([late.task.id, soon.task.id])
    },
  },
  {
    name: 'events are paged by their code, over all statuses that have it',
    async run(t) {
      const task = await taskWith(t, 1, 6, { window: 6 })
      const fetched = await t.fetch(await t.owner(), 'q', 6)
      const ends = [
        ['error', 'x'],
        ['failed', 'x'],
        ['cancelled', 'y'],
        ['error', 'y'],
        ['failed', 'x'],
        ['error', 'z'],
      ] as const
      const effects = fetched.map((one, i) => {
        const [status, code] = ends[i] as (typeof ends)[number]
        return change(one, { attempt: 0, status, code, messages: [{ at: NOW, code, params: {} }] })
      })
      await t.store.tasks.changeEvents(effects, NOW + SECOND)
      const indexes = async (code: string, limit = 9, after = -1) =>
        (await t.store.tasks.events(task.id, { code, limit, after })).map(({ index }) => index)
      expect(await indexes('x')).toEqual([0, 1, 4])
      expect(await indexes('x', 2)).toEqual([0, 1])
      expect(await indexes('x', 2, 1)).toEqual([4])
      expect(await indexes('y', 1)).toEqual([2])
      expect(await indexes('y', 1, 2)).toEqual([3])
      expect(await indexes('z')).toEqual([5])
    },
  },
  {
    name: 'a lost row is rejected and frees its slot; a late end replaces that',
    async run(t) {
      const task = await taskWith(t, 1, 4, { window: 2 })
      const owner = await t.owner()
      const [first, second] = await t.fetch(owner, 'q', 2)
      await t.settleAndFetch(owner, { started: [begin(first)] })
      const messages = [{ at: NOW, code: 'lost', params: {} }]
      const lost = [
        change(first, { status: 'error', code: 'lost', messages }),
        change(second, { status: 'error', code: 'ran-elsewhere', attempt: 0 }),
      ]
      await twice(t, task, () => t.store.tasks.changeEvents(lost, NOW + SECOND))
      expect(await eventOf(t, task, 0)).toMatchObject({ status: 'error', code: 'lost', attempts: 1, messages })
      expect(await eventOf(t, task, 1)).toMatchObject({ status: 'error', code: 'ran-elsewhere', attempts: 0 })
      expect(await expectExact(t, task)).toMatchObject({
        inWindow: 2,
        backlog: 0,
        progressAt: NOW + SECOND,
        counts: counts({ error: 2, enqueued: 2 }),
      })
      expect(await argsIn(t)).toEqual([[2], [3]])
      await t.settleAndFetch(owner, { settlements: [finish(first), finish(second, { status: 'failed', code: 'no' })] })
      expect(await expectExact(t, task)).toMatchObject({
        inWindow: 2,
        counts: counts({ finished: 1, failed: 1, enqueued: 2 }),
      })
    },
  },
  {
    name: 'the loss of the last row ends its task and pushes its callbacks',
    async run(t) {
      const told = { queue: 'calls', template: '{}' }
      const task = await taskWith(t, 1, 1, { onDone: told, onFailure: told })
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      await t.store.tasks.changeEvents([change(first, { status: 'error', code: 'lost' })], NOW + SECOND)
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', finishedAt: NOW + SECOND })
      const jids = (await t.waiting('calls')).map((text) => payloadOf({ text }).jid)
      expect(jids).toEqual([`${task.id}fe000001`, `${task.id}ff000001`])
      await t.settleAndFetch(owner, { settlements: [finish(first)] })
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', counts: counts({ finished: 1 }) })
      expect(await t.waiting('calls')).toHaveLength(2)
    },
  },
  {
    name: 'a row of the backlog can be rejected or finished from outside, and never enters the queue',
    async run(t) {
      const task = await taskWith(t, 1, 6, { window: 1 })
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      const text = (index: number) => ({ text: first.text.replace(jidOf(task.id, 0), jidOf(task.id, index)) })
      await t.settleAndFetch(owner, { settlements: [postpone(first, 5)] })
      const effects = [change(first, { status: 'enqueued', window: 'enter' })]
      await t.store.jobSets.swap(
        'retry',
        [{ text: first.text, score: 5, to: { to: 'queue', queue: 'q', text: first.text, end: 'back' }, effects }],
        NOW,
      )
      expect(await expectExact(t, task)).toMatchObject({ inWindow: 1, backlog: 5 })
      const ended = [
        change(first, { status: 'error', code: 'lost' }),
        change(text(2), { status: 'cancelled', code: 'deleted', attempt: 0 }),
        change(text(4), { status: 'finished' }),
      ]
      await twice(t, task, () => t.store.tasks.changeEvents(ended, NOW))
      expect(await expectExact(t, task)).toMatchObject({ inWindow: 1, backlog: 2 })
      const seen: unknown[] = []
      for (let taken = await work(t, owner); taken.length > 0; taken = await work(t, owner)) {
        seen.push(...taken.map((one) => payloadOf(one).args[0]))
      }
      expect(seen).toEqual([1, 3, 5])
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', backlog: 0, inWindow: 0 })
    },
  },
  {
    name: 'a row of the backlog that ends together with a queued row is not enqueued next',
    async run(t) {
      for (const [n, more] of [{}, { rowsPerJob: 2 }].entries()) {
        const task = await taskWith(t, n + 1, 6, { window: 1, queue: `q${n}`, ...more })
        const owner = await t.owner({ queues: [`q${n}`] })
        const [first] = await t.fetch(owner, `q${n}`)
        const { hk_rows: mine = [0] } = payloadOf(first) as { hk_rows?: number[] }
        const next = mine.length
        const of = (index: number) => change(first, { jid: jidOf(task.id, index) })
        await t.store.tasks.changeEvents([...mine, next].map(of), NOW)
        expect(await expectExact(t, task)).toMatchObject({ inWindow: 1 })
        await work(t, owner, { queue: `q${n}`, n: 1 })
        const ended = (await t.store.tasks.events(task.id, { status: ['finished'], limit: 9 })).map(
          ({ index }) => index,
        )
        expect(ended).toEqual(expect.arrayContaining([...mine, next, next + 1]))
      }
    },
  },
  {
    name: 'outdated changes, and changes of unknown tasks, have no effect',
    async run(t) {
      const task = await taskWith(t, 1, 1)
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      await t.settleAndFetch(owner, { started: [begin(first, { attempt: 3 })] })
      const before = await expectExact(t, task)
      const nobody = { ...change(first, { status: 'error' }), jid: jidOf(taskId(9), 0) }
      const noRow = { ...change(first, { status: 'error' }), jid: jidOf(task.id, 7) }
      await t.store.tasks.changeEvents([change(first, { status: 'error', attempt: 2 }), nobody, noRow], NOW)
      await t.store.tasks.changeEvents([], NOW)
      expect(await expectExact(t, task)).toEqual(before)
    },
  },
  {
    name: 'a row whose job is missing frees its slot once, and its event stays unchanged',
    async run(t) {
      const task = await taskWith(t, 1, 6, { window: 3 })
      const owner = await t.owner()
      const [first, second] = await t.fetch(owner, 'q', 3)
      await t.settleAndFetch(owner, { started: [begin(first)] })
      await twice(t, task, () => t.store.tasks.leaveWindow(task.id, [0, 1, 5, 99], NOW))
      expect(await eventOf(t, task, 0)).toMatchObject({ status: 'working', location: 'elsewhere' })
      expect(await eventOf(t, task, 1)).toMatchObject({ status: 'enqueued', location: 'elsewhere' })
      expect(await eventOf(t, task, 5)).toMatchObject({ status: 'enqueued', location: 'backlog' })
      expect(await expectExact(t, task)).toMatchObject({
        inWindow: 3,
        backlog: 1,
        counts: counts({ working: 1, enqueued: 5 }),
      })
      expect(await argsIn(t)).toEqual([[3], [4]])
      // They turn up after all, and give no second place away.
      await t.settleAndFetch(owner, { settlements: [finish(first), finish(second)] })
      expect(await expectExact(t, task)).toMatchObject({
        inWindow: 3,
        backlog: 1,
        counts: counts({ finished: 2, enqueued: 4 }),
      })
      await t.store.tasks.leaveWindow(taskId(9), [0], NOW)
    },
  },
  {
    name: 'reasons are counted by status and code, while rows end and are retried',
    async run(t) {
      const task = await taskWith(t, 1, 8, { window: 8, open: true })
      const owner = await t.owner()
      expect(await t.store.tasks.reasons(task.id)).toEqual([])
      await work(t, owner, { n: 3, status: 'failed', code: 'bad_price' })
      await work(t, owner, { n: 1, status: 'failed' })
      await work(t, owner, { n: 1, status: 'error', code: 'bad_price' })
      const [sixth] = await t.fetch(owner, 'q')
      await t.settleAndFetch(owner, { settlements: [moveToDead(sixth, 5, { code: 'Žluťoučký: "kůň"' })] })
      await work(t, owner, { n: 1, status: 'cancelled', code: 'discarded' })
      const row = { args: '[]', rejected: { status: 'failed' as const, code: 'bad_price', messages: [] } }
      await t.store.tasks.addRows(task.id, PRODUCER, 8, [row], NOW)
      const sorted = async () => {
        const reasons = await t.store.tasks.reasons(task.id)
        return reasons.map(({ status, code, count }) => `${status} ${code} ${count}`).sort()
      }
      expect(await sorted()).toEqual([
        'cancelled discarded 1',
        'error bad_price 1',
        'error Žluťoučký: "kůň" 1',
        'failed bad_price 4',
        'failed null 1',
      ])
      await expectExact(t, task)
      await t.store.tasks.startRun(task.id, 1, await t.owner(), NOW)
      await t.store.tasks.retryRows(task.id, 2, [{ index: 0 }, { index: 3 }, { index: 4 }], NOW)
      expect(await sorted()).toEqual(['cancelled discarded 1', 'error Žluťoučký: "kůň" 1', 'failed bad_price 3'])
      await expectExact(t, task)
      expect(await t.store.tasks.reasons(taskId(9))).toEqual([])
    },
  },
  {
    name: 'with any number of codes each code finds its rows, null finds the rows without one, and all rows are counted',
    async run(t) {
      const task = await taskWith(t, 1, 0, { open: true })
      const codeOf = (i: number) => (i % 100 === 0 ? undefined : `code ${i % 300}`)
      const added = Array.from({ length: 600 }, (_, i): NewRow => {
        const code = codeOf(i)
        return { args: '[]', rejected: { status: 'failed', messages: [], ...(code === undefined ? {} : { code }) } }
      })
      await t.store.tasks.addRows(task.id, PRODUCER, 0, added, NOW)
      const indexes = async (query: CodeFilter & { after?: number }, limit = 1000) => {
        const events = await t.store.tasks.events(task.id, { status: ['failed'], ...query, limit })
        return events.map(({ index }) => index)
      }
      for (const i of [1, 254, 255, 256, 257, 258, 259, 299])
        expect(await indexes({ code: `code ${i}` })).toEqual([i, i + 300])
      expect(await indexes({ code: 'unheard of' })).toEqual([])
      expect(await indexes({ code: null })).toEqual([0, 100, 200, 300, 400, 500])
      expect(await indexes({ code: null }, 2)).toEqual([0, 100])
      expect(await indexes({})).toHaveLength(600)
      const walked = await indexes({}, 7)
      while (walked.length % 7 === 0) walked.push(...(await indexes({ after: walked.at(-1) as number }, 7)))
      expect(walked).toEqual(added.map((_, i) => i))

      const reasons = await t.store.tasks.reasons(task.id)
      expect(reasons.reduce((sum, { count }) => sum + count, 0)).toBe(600)
      const without = reasons.filter(({ code }) => code === null)
      expect(without.filter(({ otherCodes }) => !otherCodes)).toEqual([{ status: 'failed', code: null, count: 6 }])
      const named = new Set(reasons.map(({ code }) => code))
      const others = added.flatMap((_, i) => (codeOf(i) === undefined || named.has(codeOf(i) as string) ? [] : [i]))
      expect(await indexes({ otherCodes: true })).toEqual(others)
      const counted = without.filter(({ otherCodes }) => otherCodes)
      expect(counted.map(({ count }) => count)).toEqual(others.length > 0 ? [others.length] : [])

      // Rows that are put back and rejected again are counted with their old code.
      await t.store.tasks.startRun(task.id, 1, await t.owner(), NOW)
      const last = others.at(-1) ?? 599
      await t.store.tasks.retryRows(task.id, 2, [{ index: 0 }, { index: last }], NOW)
      expect(await indexes({ code: null })).toEqual([100, 200, 300, 400, 500])
      expect(await indexes({ otherCodes: true })).toEqual(others.slice(0, -1))
    },
  },
  {
    name: 'rejected events are read by their code, in pages, also together with a status',
    async run(t) {
      const task = await taskWith(t, 1, 12, { window: 12 })
      const owner = await t.owner()
      for (let i = 0; i < 12; i++) {
        const status = (['failed', 'error', 'cancelled', 'finished'] as const)[i % 4]
        await work(t, owner, { n: 1, status: sure(status), code: i % 3 === 0 ? 'three' : `code ${i % 2}` })
      }
      const indexes = async (query: Parameters<typeof t.store.tasks.events>[1]) =>
        (await t.store.tasks.events(task.id, query)).map(({ index }) => index)
      expect(await indexes({ code: 'three', limit: 99 })).toEqual([0, 6, 9])
      expect(await indexes({ code: 'three', limit: 2 })).toEqual([0, 6])
      expect(await indexes({ code: 'three', after: 0, limit: 99 })).toEqual([6, 9])
      expect(await indexes({ code: 'three', status: ['error', 'finished'], limit: 99 })).toEqual([9])
      expect(await indexes({ code: 'three', status: ['failed', 'cancelled'], limit: 99 })).toEqual([0, 6])
      expect(await indexes({ code: 'code 0', limit: 99 })).toEqual([2, 4, 8, 10])
      expect(await indexes({ code: 'nothing', limit: 99 })).toEqual([])
      await t.store.tasks.startRun(task.id, 1, await t.owner(), NOW)
      await t.store.tasks.retryRows(task.id, 2, [{ index: 6 }], NOW)
      expect(await indexes({ code: 'three', limit: 99 })).toEqual([0, 9])
    },
  },
  {
    name: 'a task expires after its time to keep, and not while it runs',
    async run(t) {
      const done = await taskWith(t, 1, 0, { keep: HOUR })
      const usual = await taskWith(t, 2, 0)
      const cancelled = await taskWith(t, 3, 1, { keep: HOUR, open: true, queue: 'c' })
      await t.store.tasks.cancel(cancelled.id, null, NOW)
      const open = await taskWith(t, 4, 1, { keep: 0, queue: 'd' })
      const interrupted = await taskWith(t, 5, 0, { keep: 0, open: true })
      await t.store.tasks.endAdding(interrupted.id, PRODUCER, NOW, true)
      const over = async (now: number) => (await t.store.tasks.expired(now, 10)).sort()
      expect(await over(NOW + HOUR - SECOND)).toEqual([])
      expect(await over(NOW + HOUR + SECOND)).toEqual([done.id])
      await t.store.tasks.cancelRows(cancelled.id, 9, NOW + HOUR)
      expect(await over(NOW + HOUR + SECOND)).toEqual([done.id])
      expect(await over(NOW + 2 * HOUR + SECOND)).toEqual([done.id, cancelled.id])
      expect(await over(NOW + 30 * DAY + SECOND)).toEqual([done.id, usual.id, cancelled.id])
      expect(await t.store.tasks.expired(NOW + 30 * DAY + SECOND, 2)).toHaveLength(2)
      await t.store.tasks.startRun(done.id, 1, await t.owner(), NOW)
      expect(await over(NOW + 2 * HOUR + SECOND)).toEqual([cancelled.id])
      await work(t, await t.owner({ queues: ['d'] }), { queue: 'd' })
      expect(await over(NOW + SECOND)).toEqual([open.id])
    },
  },
  {
    name: 'a deleted task is hidden from the first call on, and all its data is gone after some more',
    async run(t) {
      const task = await taskWith(t, 1, 40, { window: 3, open: true })
      const other = await taskWith(t, 2, 2, { queue: 'p' })
      const owner = await t.owner({ queues: ['q', 'p'] })
      const [first, second] = await t.fetch(owner, 'q', 2)
      const messages = [{ at: NOW, code: 'no', params: {} }]
      await t.settleAndFetch(owner, { settlements: [finish(first, { status: 'failed', messages })] })
      await t.store.tasks.putPart(task.id, 0, new Uint8Array(10), 100)
      const waiting = await t.waiting('q')
      // A store may be able to remove all at once.
      const all = await t.store.tasks.delete(task.id, 7)
      const gone = async () => {
        expect(await t.store.tasks.find(task.id)).toBe(null)
        expect((await t.store.tasks.page({ limit: 9 })).map(({ id }) => id)).toEqual([other.id])
        expect(await t.store.tasks.event(jidOf(task.id, 39))).toBe(null)
        expect(await t.store.tasks.events(task.id, { limit: 99 })).toEqual([])
        expect(await t.store.tasks.part(task.id, 0)).toBe(null)
        expect(await t.store.tasks.reasons(task.id)).toEqual([])
        expect(await idleTasks(t, NOW + DAY)).toEqual([await record(t, other)])
        const refused = { ok: false, reason: 'unknown' }
        expect(await t.store.tasks.addRows(task.id, PRODUCER, 40, rows(40, 1), NOW)).toMatchObject(refused)
        expect(await t.store.tasks.openAdding(task.id, 'a', NOW)).toMatchObject(refused)
        expect(await t.store.tasks.endAdding(task.id, PRODUCER, NOW)).toMatchObject(refused)
        expect(await t.store.tasks.change(task.id, { paused: true }, NOW)).toBe(null)
        expect(await t.store.tasks.cancel(task.id, null, NOW)).toBe(null)
        expect(await t.store.tasks.startRun(task.id, 1, 'a', NOW)).toBe(null)
        expect(await t.store.tasks.putPart(task.id, 1, new Uint8Array(1), 9)).toBe('unknown')
        expect(await t.store.metrics.totals()).toMatchObject({ backlog: 0 })
      }
      await gone()
      // Half deleted and left alone: whoever looks for what is over goes on.
      if (!all) expect(await t.store.tasks.expired(NOW, 9)).toEqual([task.id])
      let calls = 0
      while (!(await t.store.tasks.delete(task.id, 7))) expect(++calls).toBeLessThan(50)
      await gone()
      expect(await t.store.tasks.expired(NOW, 9)).toEqual([])
      expect(await t.store.tasks.delete(task.id, 7)).toBe(true)
      expect(await t.store.tasks.delete(taskId(99), 7)).toBe(true)
      // Its jobs run untracked, and nothing follows them.
      expect((await t.settleAndFetch(owner, { started: [begin(second)] })).started).toEqual(['ok'])
      expect((await t.settleAndFetch(owner, { settlements: [finish(second)] })).settled).toEqual(['ok'])
      expect(await t.waiting('q')).toEqual(waiting)
      await work(t, owner)
      expect(await t.waiting('q')).toEqual([])
      expect(await expectExact(t, other)).toMatchObject({ total: 2 })
    },
  },
  {
    name: 'the id of a deleted task is free again',
    async run(t) {
      const task = await taskWith(t, 1, 3)
      while (!(await t.store.tasks.delete(task.id, 100)));
      expect(await t.store.tasks.create(spec(1, { name: 'another' }))).toBe(true)
      expect(await expectExact(t, task)).toMatchObject({ name: 'another', total: 0, run: 1, state: 'adding' })
      expect(await t.store.tasks.addRows(task.id, PRODUCER, 0, rows(0, 1), NOW)).toEqual({ ok: true, total: 1 })
    },
  },
  {
    name: 'a task is deleted while it is cancelling, or adding, and leaves nothing idle',
    async run(t) {
      const task = await taskWith(t, 1, 9, { open: true })
      await t.store.tasks.cancel(task.id, null, NOW)
      while (!(await t.store.tasks.delete(task.id, 4)));
      expect(await idleTasks(t, NOW + DAY)).toEqual([])
      expect(await t.store.tasks.cancelling({ limit: 9 })).toEqual({ items: [], next: null })
      expect(await t.store.tasks.cancelRows(task.id, 9, NOW)).toEqual({
        cancelled: 0,
        maybeRunning: expect.any(Array),
        done: true,
      })
    },
  },
]
