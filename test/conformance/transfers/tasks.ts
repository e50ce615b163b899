import { expect } from 'vitest'
import type { FetchedJob, PageOutcome, Store, TaskPart } from '#dist/store/contract.js'
import { type Bench, type Case, job, NOW, sure, toQueue } from '../bench.ts'
import {
  begin,
  change,
  expectExact,
  finish,
  jidOf,
  PRODUCER,
  payloadOf,
  postpone,
  record,
  rows,
  taskId,
  taskWith,
  twice,
} from '../tasks/tracked.ts'
import { mixedTask, OPEN_ROWS, runAll, snapshot, UNTIL } from './mixed-task.ts'

/** Freezes a task without jobs, and seals it. */
async function seal(store: Store, id: string, transfer = 'T'): Promise<void> {
  expect(await store.transfers.freeze(id, NOW)).toBe('ok')
  const { counts } = sure(await store.tasks.find(id))
  expect(await store.transfers.seal(id, transfer, 'there', counts)).toBe(true)
}

/** Reads all parts of a sealed task, by their cursors. */
async function partsOf(store: Store, id: string, transfer = 'T'): Promise<{ cursor: string; part: TaskPart }[]> {
  const parts: { cursor: string; part: TaskPart }[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const part: TaskPart = sure(await store.transfers.readTask(id, transfer, cursor))
    parts.push({ cursor, part })
    cursor = part.next
  }
  return parts
}

async function put(store: Store, id: string, parts: Awaited<ReturnType<typeof partsOf>>, transfer = 'T') {
  let outcome: PageOutcome | { cursor: string } = { cursor: '' }
  for (const { cursor, part } of parts) outcome = await store.transfers.putTask(id, transfer, cursor, part, NOW)
  return outcome
}

/** A task of three rows that wait in its backlog. */
async function paused(t: Bench, number = 1, count = 3) {
  const task = await taskWith(t, number, 0, { open: true })
  await t.store.tasks.change(task.id, { paused: true }, NOW)
  await t.store.tasks.addRows(task.id, PRODUCER, 0, rows(0, count), NOW)
  await t.store.tasks.endAdding(task.id, PRODUCER, NOW)
  return task
}

/** Tasks that go from this store to another one. */
export const taskTransfers: Case[] = [
  {
    name: 'a frozen task puts no more rows into its queue, and takes new rows; unfreeze fills its window',
    async run(t) {
      const task = await taskWith(t, 1, 5, { window: 2 })
      const owner = await t.owner()
      const [first, second] = await t.fetch(owner, 'q', 2)
      await t.settleAndFetch(owner, { started: [begin(first)] })
      expect(await t.store.transfers.freeze(task.id, NOW)).toBe('ok')
      expect(await t.store.transfers.freeze(task.id, NOW)).toBe('ok')
      expect(await t.store.transfers.movingTasks()).toEqual([{ id: task.id, sealed: null }])
      expect(await t.store.tasks.addRows(task.id, 'row:0:1', 0, rows(5, 1), NOW)).toMatchObject({ ok: true })
      await t.settleAndFetch(owner, { settlements: [finish(first), postpone(second, NOW)] })
      expect(await expectExact(t, task)).toMatchObject({ inWindow: 0, backlog: 4, state: 'running' })
      // A job that is due goes to the backlog.
      const to = { to: 'queue', queue: 'q', text: second.text, end: 'back' } as const
      const enter = change(second, { status: 'enqueued', window: 'enter' })
      await t.store.jobSets.swap('retry', [{ text: second.text, score: NOW, to, effects: [enter] }], NOW)
      expect(await expectExact(t, task)).toMatchObject({ inWindow: 0, backlog: 5 })
      expect(await t.waiting('q')).toEqual([])
      expect(await t.store.transfers.unfreeze(task.id, NOW)).toBe(true)
      expect(await t.store.transfers.unfreeze(task.id, NOW)).toBe(false)
      expect(await expectExact(t, task)).toMatchObject({ inWindow: 2, backlog: 3 })
      expect((await t.waiting('q'))[0]).toBe(second.text)
      expect(await t.store.transfers.movingTasks()).toEqual([])
    },
  },
  {
    name: 'freeze answers why a task must not move: a producer adds rows, it is being cancelled, there is none',
    async run(t) {
      const { transfers, tasks } = t.store
      const adding = await taskWith(t, 1, 1, { open: true })
      expect(await transfers.freeze(adding.id, NOW)).toBe('adding')
      const cancelling = await taskWith(t, 2, 1)
      await tasks.cancel(cancelling.id, null, NOW)
      expect(await transfers.freeze(cancelling.id, NOW)).toBe('cancelling')
      expect(await transfers.freeze(taskId(3), NOW)).toBe('gone')
      expect(await transfers.unfreeze(taskId(3), NOW)).toBe(false)
      expect(await transfers.movingTasks()).toEqual([])
    },
  },
  {
    name: 'a frozen task that is deleted can be forgotten',
    async run(t) {
      const task = await paused(t)
      await t.store.transfers.freeze(task.id, NOW)
      while (!(await t.store.tasks.delete(task.id, 10)));
      expect(await t.store.transfers.movingTasks()).toEqual([{ id: task.id, sealed: null }])
      expect(await t.store.transfers.unfreeze(task.id, NOW)).toBe(true)
      expect(await t.store.transfers.movingTasks()).toEqual([])
    },
  },
  {
    name: 'a task stays frozen while its sets have jobs, and they get none when it is not frozen',
    async run(t) {
      const { transfers } = t.store
      const { id } = await taskWith(t, 1, 2)
      const hold = async () => {
        const texts = await t.waiting('q')
        const page = sure(await transfers.hold('T', 'here', { queue: 'q', offset: 0, texts }))
        const set = `moving:queue:${id}` as const
        return { page, set, moves: page.jobs.map(({ text }, score) => ({ to: { to: set, text, score } })) }
      }
      const { page, moves, set } = await hold()
      expect(await transfers.endPage(page, moves, NOW)).toBe(false)
      expect(await transfers.held()).toEqual(page)
      expect(await transfers.freeze(id, NOW)).toBe('ok')
      expect(await transfers.endPage(page, moves, NOW)).toBe(true)
      expect(await transfers.unfreeze(id, NOW)).toBe(false)
      expect(await transfers.movingTasks()).toEqual([{ id, sealed: null }])
      const entries = await t.store.jobSets.page(set, { limit: 9 })
      const back = sure(await transfers.hold('U', 'here', { set, entries }))
      await transfers.endPage(back, [], NOW)
      expect(await transfers.unfreeze(id, NOW)).toBe(true)
    },
  },
  {
    name: 'seal refuses a task that is not frozen, has a row in its window, a producer, or other counts',
    async run(t) {
      const { transfers, tasks } = t.store
      const task = await taskWith(t, 1, 3, { window: 1 })
      const counts = async () => (await record(t, task)).counts
      expect(await transfers.seal(task.id, 'T', 'there', await counts())).toBe(false)
      await transfers.freeze(task.id, NOW)
      expect(await transfers.seal(task.id, 'T', 'there', await counts())).toBe(false)
      const owner = await t.owner()
      const [taken] = await t.fetch(owner, 'q')
      const before = await counts()
      await t.settleAndFetch(owner, { settlements: [finish(taken)] })
      expect(await transfers.seal(task.id, 'T', 'there', before)).toBe(false)
      await tasks.openAdding(task.id, 'another', NOW)
      expect(await transfers.seal(task.id, 'T', 'there', await counts())).toBe(false)
      await tasks.endAdding(task.id, 'another', NOW)
      expect(await transfers.seal(task.id, 'T', 'there', await counts())).toBe(true)
      expect(await transfers.seal(task.id, 'U', 'there', before)).toBe(false)
      expect(await transfers.movingTasks()).toEqual([{ id: task.id, sealed: { transfer: 'T', target: 'there' } }])
    },
  },
  {
    name: 'a sealed task is found nowhere and changes in no way; unseal brings it back as it was',
    async run(t) {
      const { transfers, tasks } = t.store
      const task = await paused(t)
      const { id } = task
      const before = await snapshot(t.store, id)
      await seal(t.store, id)
      expect(await transfers.freeze(id, NOW)).toBe('gone')
      expect(await tasks.find(id)).toBe(null)
      expect(await tasks.events(id, { limit: 9 })).toEqual([])
      expect(await tasks.event(jidOf(id, 0))).toBe(null)
      expect(await tasks.page({ limit: 9 })).toEqual([])
      expect(await tasks.addRows(id, PRODUCER, 3, rows(3, 1), NOW)).toMatchObject({ ok: false, reason: 'unknown' })
      expect(await tasks.change(id, { paused: false }, NOW)).toBe(null)
      expect(await tasks.cancel(id, null, NOW)).toBe(null)
      expect(await tasks.endDeferred({ jid: jidOf(id, 0), status: 'finished' }, NOW)).toMatchObject({
        answer: 'unknown',
      })
      expect(await tasks.delete(id, 10)).toBe(true)
      expect((await t.store.metrics.totals()).backlog).toBe(0)
      expect(await transfers.unseal(id, 'another')).toBe(false)
      expect(await transfers.unseal(id, 'T')).toBe(true)
      expect(await transfers.unseal(id, 'T')).toBe(false)
      expect(await transfers.readTask(id, 'T', '')).toBe(null)
      expect(await snapshot(t.store, id)).toEqual(before)
      expect((await t.store.metrics.totals()).backlog).toBe(3)
      expect(await transfers.unfreeze(id, NOW)).toBe(true)
      await expectExact(t, task)
    },
  },
  {
    name: 'a deferred row of a sealed task is not overdue and does not end, and keeps its deadline',
    async run(t) {
      const id = await mixedTask(t.store, 1)
      const { transfers, tasks } = t.store
      await transfers.freeze(id, NOW)
      await tasks.leaveWindow(id, [0], NOW)
      const { counts } = await record(t, { id })
      expect(await transfers.seal(id, 'T', 'there', counts)).toBe(true)
      const jid = jidOf(id, 5)
      expect(await tasks.overdue(UNTIL, 1)).toEqual([])
      const end = { jid, status: 'error', isOverdue: true } as const
      expect(await tasks.endDeferred(end, UNTIL)).toMatchObject({ answer: 'unknown' })
      expect(await transfers.unseal(id, 'T')).toBe(true)
      expect(await tasks.overdue(UNTIL, 1)).toEqual([jid])
      expect(await tasks.endDeferred(end, UNTIL)).toMatchObject({ answer: 'ok' })
    },
  },
  {
    name: 'a task is neither sealed nor dropped while a page is held, and not dropped while its sets have jobs',
    async run(t) {
      const { transfers, jobs } = t.store
      const task = await paused(t)
      const [entry, set] = [{ text: job('x'), score: 1 }, `moving:queue:${task.id}` as const]
      await jobs.push([toQueue('other', entry.text)], NOW)
      await transfers.freeze(task.id, NOW)
      const { counts } = await record(t, task)
      const seal = () => transfers.seal(task.id, 'T', 'there', counts)
      const page = sure(await transfers.hold('P', 'there', { queue: 'other', offset: 0, texts: [entry.text] }))
      expect(await seal()).toBe(false)
      await transfers.endPage(page, [{ to: { to: set, ...entry } }], NOW)
      expect(await seal()).toBe(true)
      expect(await transfers.dropTask(task.id, 'T')).toBe(false)
      const last = sure(await transfers.hold('L', 'there', { set, entries: [entry] }))
      expect(await transfers.dropTask(task.id, 'T')).toBe(false)
      await transfers.endPage(last, [], NOW)
      expect(await transfers.dropTask(task.id, 'T')).toBe(true)
    },
  },
  {
    name: 'an ended task can be sealed, does not expire then, and expires after unseal, also when the store was tidied meanwhile',
    async run(t) {
      const task = await taskWith(t, 1, 0, { keep: 1000 })
      await seal(t.store, task.id)
      const { transfers, tasks, workers } = t.store
      expect(await tasks.expired(NOW + 5000, 9)).toEqual([])
      expect(await workers.tidy()).toEqual([])
      expect(await transfers.unseal(task.id, 'T')).toBe(true)
      expect(await tasks.expired(NOW + 5000, 9)).toEqual([task.id])
    },
  },
  {
    name: 'a task is the same in the other store: rows, events, results, files, backlog, and it runs to its end there',
    shared: true,
    async run(t) {
      const target = await t.anotherEmpty()
      const id = await mixedTask(t.store, 1)
      const { transfers } = t.store
      expect(await transfers.freeze(id, NOW)).toBe('ok')
      // The test keeps the jobs: they go to the target as the mover brings them.
      const [queued] = await t.store.jobs.peek('q1', 0, 9)
      const from = { queue: 'q1', offset: 0, texts: [sure(queued)] }
      const page = sure(await transfers.hold('jobs', 'there', from))
      await transfers.endPage(page, [], NOW)
      await t.store.tasks.leaveWindow(id, [0], NOW)
      const retries = await t.store.jobSets.page('retry', { limit: 9 })
      const before = await snapshot(t.store, id)
      const { counts, backlog } = await record(t, { id })
      expect(await transfers.seal(id, 'T', 'there', counts)).toBe(true)
      const parts = await partsOf(t.store, id)
      expect(await put(target, id, parts.slice(0, -1))).toEqual({ cursor: sure(parts.at(-1)).cursor })
      expect(await target.tasks.find(id)).toBe(null)
      expect(await target.tasks.page({ limit: 9 })).toEqual([])
      expect(await target.tasks.delete(id, 1000)).toBe(true)
      expect(await target.transfers.movingTasks()).toEqual([])
      expect(await put(target, id, parts)).toBe('stored')
      expect(await put(target, id, parts)).toBe('stored')
      expect(await snapshot(target, id)).toEqual(before)
      // One row of the backlog has come into the window.
      expect(await expectExact({ store: target }, { id })).toMatchObject({ inWindow: 1, backlog: backlog - 1 })
      expect(await transfers.dropTask(id, 'T')).toBe(true)
      expect(await transfers.dropTask(id, 'T')).toBe(false)
      while (!(await t.store.tasks.delete(id, 1000)));
      expect(await t.store.tasks.find(id)).toBe(null)
      expect(await transfers.movingTasks()).toEqual([])
      const enter = change({ text: sure(queued) }, { status: 'enqueued', attempt: 0, window: 'enter' })
      const items = [
        { ...toQueue('q1', sure(queued)), effects: [enter] },
        ...retries.map((one) => ({ to: 'retry', ...one }) as const),
      ]
      await target.transfers.put({ transfer: 'jobs', number: 1 }, items, NOW)
      expect(await runAll(target, 1)).toEqual(OPEN_ROWS.map((index) => jidOf(id, index)))
      await target.tasks.endDeferred({ jid: jidOf(id, 5), status: 'finished' }, NOW)
      expect(await expectExact({ store: target }, { id })).toMatchObject({
        counts: { finished: 11, failed: 1 },
        state: 'interrupted',
      })
      expect(await target.tasks.openAdding(id, 'producer-4', NOW, 'producer-2')).toMatchObject({ ok: true })
      expect(await target.tasks.addRows(id, 'producer-4', 12, rows(12, 0), NOW)).toMatchObject({ ok: true, total: 12 })
      await target.tasks.endAdding(id, 'producer-4', NOW)
      expect(await record({ store: target }, { id })).toMatchObject({ state: 'done' })
      expect(await target.jobs.peek('calls', 0, 9)).toHaveLength(1)
    },
  },
  {
    name: 'parts come in their order, each once; another part than the next one changes nothing',
    shared: true,
    async run(t) {
      const target = await t.anotherEmpty()
      const task = await paused(t, 1, 250)
      await seal(t.store, task.id)
      const parts = await partsOf(t.store, task.id)
      expect(parts.length).toBeGreaterThan(3)
      const [head, first, second] = [sure(parts[0]), sure(parts[1]), sure(parts[2])]
      const one = ({ cursor, part }: typeof head) => target.transfers.putTask(task.id, 'T', cursor, part, NOW)
      expect(await one(first)).toEqual({ cursor: '' })
      expect(await one(head)).toEqual({ cursor: first.cursor })
      expect(await one(head)).toEqual({ cursor: first.cursor })
      expect(await one(second)).toEqual({ cursor: first.cursor })
      expect(await one(first)).toEqual({ cursor: second.cursor })
      expect(await one(first)).toEqual({ cursor: second.cursor })
      expect(await put(target, task.id, parts)).toBe('stored')
      expect(await expectExact({ store: target }, task)).toMatchObject({ total: 250, backlog: 250, state: 'paused' })
    },
  },
  {
    name: 'rows that came back keep their order in the other store, also in several parts',
    shared: true,
    async run(t) {
      const target = await t.anotherEmpty()
      const window = 600
      const { id } = await taskWith(t, 1, 0, { open: true, window, template: '{"class":"RowJob","queue":"q"}' })
      for (let from = 0; from <= window; from += 100) {
        await t.store.tasks.addRows(id, PRODUCER, from, rows(from, 100), NOW)
      }
      await t.store.tasks.endAdding(id, PRODUCER, NOW)
      const owner = await t.owner()
      const taken: FetchedJob[] = []
      while (taken.length < window) taken.push(...(await t.fetch(owner, 'q', 100)))
      expect(await t.store.transfers.freeze(id, NOW)).toBe('ok')
      await t.settleAndFetch(owner, { settlements: taken.map((one) => postpone(one, NOW)) })
      for (const one of taken) {
        const to = { to: 'queue', queue: 'q', text: one.text, end: 'back' } as const
        const enter = change(one, { status: 'enqueued', window: 'enter' })
        await t.store.jobSets.swap('retry', [{ text: one.text, score: NOW, to, effects: [enter] }], NOW)
      }
      await seal(t.store, id)
      const parts = await partsOf(t.store, id)
      expect(parts.filter(({ part }) => part.backlog.length > 0).length).toBeGreaterThan(1)
      expect(await put(target, id, parts)).toBe('stored')
      const jids = (await target.jobs.peek('q', 0, 999)).map((text) => payloadOf({ text }).jid)
      expect(jids).toEqual(taken.toReversed().map((one) => payloadOf(one).jid))
    },
  },
  {
    name: 'a task that is void is never stored, and one of another name begins again',
    shared: true,
    async run(t) {
      const target = await t.anotherEmpty()
      const task = await paused(t)
      const { id } = task
      await seal(t.store, id)
      const parts = await partsOf(t.store, id)
      await put(target, id, parts.slice(0, 2))
      expect(await target.transfers.voidTask(id, 'T', NOW)).toBe('void')
      expect(await put(target, id, parts)).toBe('void')
      expect((await target.transfers.taskIds({ limit: 9 })).ids).toEqual([])
      expect(await target.transfers.voidTask(id, 'never', NOW)).toBe('void')
      expect(await put(target, id, parts.slice(0, 2), 'U')).toMatchObject({ cursor: sure(parts[2]).cursor })
      expect(await target.transfers.putTask(id, 'V', '', sure(parts[0]).part, NOW)).toEqual({
        cursor: sure(parts[1]).cursor,
      })
      expect(await put(target, id, parts, 'V')).toBe('stored')
      expect(await target.transfers.voidTask(id, 'V', NOW)).toBe('stored')
      expect(await expectExact({ store: target }, task)).toMatchObject({ total: 3, backlog: 3 })
      await expect(put(target, id, parts, 'W')).rejects.toMatchObject({ code: 'STORE_UNUSABLE' })
      while (!(await target.tasks.delete(id, 1000)));
      expect(await put(target, id, parts, 'V')).toBe('stored')
      expect((await target.transfers.taskIds({ limit: 9 })).ids).toEqual([])
    },
  },
  {
    name: 'a task can come back to a store that it has left',
    shared: true,
    async run(t) {
      const target = await t.anotherEmpty()
      const task = await paused(t)
      const { id } = task
      const before = await snapshot(t.store, id)
      for (const [from, to, name] of [
        [t.store, target, 'T'],
        [target, t.store, 'U'],
      ] as const) {
        await seal(from, id, name)
        expect(await put(to, id, await partsOf(from, id, name), name)).toBe('stored')
        expect(await from.transfers.dropTask(id, name)).toBe(true)
      }
      expect(await snapshot(t.store, id)).toEqual(before)
      await twice(t, task, () => t.store.tasks.change(id, { paused: false }, NOW))
      expect(await expectExact(t, task)).toMatchObject({ inWindow: 3 })
    },
  },
  {
    name: 'taskIds lists all tasks, also single ones',
    async run(t) {
      const ids = [1, 2, 3].map(taskId)
      for (const n of [1, 2, 3]) await taskWith(t, n, 0, { single: n === 2 })
      const found: string[] = []
      for (let after: string | null | undefined; after !== null; ) {
        const page: { ids: string[]; next: string | null } = await t.store.transfers.taskIds({
          after: after ?? undefined,
          limit: 2,
        })
        found.push(...page.ids)
        after = page.next
      }
      expect([...new Set(found)].sort()).toEqual(ids)
    },
  },
]
