import { expect } from 'vitest'
import type { Message } from '#dist/store/contract.js'
import { type Case, done, NOW, sure } from '../bench.ts'
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
  postpone,
  record,
  rows,
  spec,
  taskId,
  taskWith,
} from './tracked.ts'

const SECOND = 1000

/** Creating, listing and reading tracked tasks. */
export const tasks: Case[] = [
  {
    name: 'a new task is adding, without rows, as specified',
    async run(t) {
      const task = spec(1, { name: 'dovoz č. 1', meta: '{"kind":"import","big":12345678901234567890}', window: 7 })
      expect(await t.store.tasks.create(task)).toBe(true)
      expect(await t.store.tasks.find(task.id)).toEqual({
        id: task.id,
        name: task.name,
        job: 'RowJob',
        queue: 'q',
        state: 'adding',
        run: 1,
        runAt: NOW,
        endedBefore: 0,
        mixed: false,
        total: 0,
        backlog: 0,
        inWindow: 0,
        deferred: 0,
        window: 7,
        rowsPerJob: null,
        adding: true,
        broken: false,
        keepArgs: 'all',
        lastRow: null,
        linkVersion: 0,
        maxFailures: null,
        onMaxFailures: 'pause',
        reason: null,
        lostAfter: 3_600_000,
        single: false,
        producer: task.producer,
        counts: counts({}),
        meta: task.meta,
        createdAt: NOW,
        progressAt: null,
        finishedAt: null,
      })
      expect(await t.store.tasks.events(task.id, { limit: 10 })).toEqual([])
    },
  },
  {
    name: 'a task id is used once: the second creation is refused and changes nothing',
    async run(t) {
      await t.store.tasks.create(spec(1))
      expect(await t.store.tasks.create(spec(1, { name: 'another', producer: 'other' }))).toBe(false)
      expect((await record(t, spec(1))).name).toBe('task 1')
      expect(await t.store.tasks.addRows(taskId(1), PRODUCER, 0, rows(0, 1), NOW)).toEqual({ ok: true, total: 1 })
    },
  },
  {
    name: 'an unknown task is null, has no events, and accepts no rows',
    async run(t) {
      expect(await t.store.tasks.find(taskId(9))).toBe(null)
      expect(await t.store.tasks.event(jidOf(taskId(9), 0))).toBe(null)
      // Jids that an app has chosen.
      for (const jid of ['mine', 'f'.repeat(40)]) expect(await t.store.tasks.event(jid)).toBe(null)
      expect(await t.store.tasks.events(taskId(9), { limit: 5 })).toEqual([])
      const refused = { ok: false, reason: 'unknown' }
      expect(await t.store.tasks.addRows(taskId(9), PRODUCER, 0, rows(0, 1), NOW)).toMatchObject(refused)
      expect(await t.store.tasks.endAdding(taskId(9), PRODUCER, NOW)).toMatchObject(refused)
      const task = await taskWith(t, 1, 1)
      expect(await t.store.tasks.event(jidOf(task.id, 1))).toBe(null)
    },
  },
  {
    name: 'tasks are listed newest first, in pages that miss and repeat none',
    async run(t) {
      const made = [3, 1, 2, 2, 2, 5, 4].map((second, n) => spec(n + 1, { createdAt: NOW + second * SECOND }))
      for (const task of made) await t.store.tasks.create(task)
      for (const limit of [1, 2, 3, 10]) {
        const seen = []
        for (let page = await t.store.tasks.page({ limit }); page.length > 0; ) {
          expect(page.length).toBeLessThanOrEqual(limit)
          seen.push(...page)
          const last = sure(page.at(-1))
          page = await t.store.tasks.page({ before: { createdAt: last.createdAt, id: last.id }, limit })
        }
        expect(seen.map(({ createdAt }) => (createdAt - NOW) / SECOND)).toEqual([5, 4, 3, 2, 2, 2, 1])
        expect(seen.map(({ id }) => id).sort()).toEqual(made.map(({ id }) => id).sort())
      }
    },
  },
  {
    name: 'keepArgs decides whether arguments are kept',
    async run(t) {
      const kept = []
      for (const [n, keepArgs] of (['rejected', 'all', 'none'] as const).entries()) {
        const queue = `q${n}`
        const task = spec(n + 1, { keepArgs, queue, window: 6 })
        await t.store.tasks.create(task)
        const rejected = { args: '[9]', rejected: { status: 'failed' as const, messages: [] } }
        await t.store.tasks.addRows(task.id, PRODUCER, 0, [...rows(0, 5), rejected], NOW)
        const owner = await t.owner({ queues: [queue] })
        const [a, b, c, d] = await t.fetch(owner, queue, 4)
        await t.settleAndFetch(owner, {
          settlements: [finish(a), finish(b, { status: 'failed' }), moveToDead(c, 1), postpone(d, 1)],
        })
        kept.push((await t.store.tasks.events(task.id, { limit: 9 })).map(({ args }) => args))
      }
      expect(kept[0]).toEqual([null, '[1]', '[2]', '[3]', '[4]', '[9]'])
      expect(kept[1]).toEqual(['[0]', '[1]', '[2]', '[3]', '[4]', '[9]'])
      expect(kept[2]?.slice(0, 3)).toEqual([null, null, null])
      expect(kept[2]?.[4]).toBe('[4]')
      expect(kept[2]?.[5]).toBe(null)
    },
  },
  {
    name: 'events are read in pages, by status and in order',
    async run(t) {
      const task = await taskWith(t, 1, 12, { window: 12 })
      const owner = await t.owner()
      const taken = await t.fetch(owner, 'q', 12)
      await t.settleAndFetch(owner, {
        settlements: taken
          .filter((_, i) => i % 3 !== 0)
          .map((one, i) => finish(one, { status: i % 2 === 0 ? 'failed' : 'cancelled' })),
      })
      const indexes = async (query: Parameters<typeof t.store.tasks.events>[1]) =>
        (await t.store.tasks.events(task.id, query)).map(({ index }) => index)
      expect(await indexes({ limit: 5 })).toEqual([0, 1, 2, 3, 4])
      expect(await indexes({ limit: 5, after: 4 })).toEqual([5, 6, 7, 8, 9])
      expect(await indexes({ limit: 5, after: 9 })).toEqual([10, 11])
      expect(await indexes({ limit: 5, after: 11 })).toEqual([])
      expect(await indexes({ limit: 99, status: ['enqueued'] })).toEqual([0, 3, 6, 9])
      expect(await indexes({ limit: 3, status: ['failed', 'cancelled'], after: 1 })).toEqual([2, 4, 5])
      expect(await indexes({ limit: 99, status: ['failed'] })).toEqual([1, 4, 7, 10])
      expect(await indexes({ limit: 99, status: ['finished'] })).toEqual([])
    },
  },
  {
    name: 'messages are added in any state, at most 50',
    async run(t) {
      const task = await taskWith(t, 1, 2)
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      const jid = jidOf(task.id, 0)
      const note = (n: number): Message => ({ at: NOW + n * SECOND, code: 'note', params: { n, text: `č ${n}` } })
      await t.store.tasks.addMessage(jid, note(0))
      await t.settleAndFetch(owner, { started: [begin(first, { messages: [note(1)] })] })
      await t.store.tasks.addMessage(jid, note(2))
      await t.settleAndFetch(owner, { settlements: [finish(first, { messages: [note(3), note(4)] })] })
      await t.store.tasks.addMessage(jid, note(5))
      expect((await eventOf(t, task, 0)).messages).toEqual([0, 1, 2, 3, 4, 5].map(note))
      expect((await eventOf(t, task, 1)).messages).toEqual([])
      for (let n = 6; n < 70; n++) await t.store.tasks.addMessage(jid, note(n))
      const { messages } = await eventOf(t, task, 0)
      // A store may say in a message of its own that some were dropped.
      const kept = messages.filter(({ code }) => code === 'note')
      expect(kept.length).toBeLessThanOrEqual(50)
      expect(kept.length).toBeGreaterThanOrEqual(40)
      expect(messages[0]).toEqual(note(0))
      expect(messages.at(-1)).toEqual(note(69))
      expect(await expectExact(t, task)).toMatchObject({ counts: counts({ finished: 1, enqueued: 1 }) })
    },
  },
  {
    name: 'the claim of a producer interrupts only the tasks it was adding to, and their rows run',
    async run(t) {
      const producer = await t.owner()
      const mine = spec(1, { producer })
      const ended = spec(2, { producer })
      const others = spec(3)
      for (const task of [mine, ended, others]) {
        await t.store.tasks.create(task)
        await t.store.tasks.addRows(task.id, task.producer, 0, rows(0, 1), NOW)
      }
      await t.store.tasks.endAdding(ended.id, producer, NOW)
      expect(await t.store.workers.claim(producer)).toBe(true)
      const states = await Promise.all([mine, ended, others].map(async (task) => (await record(t, task)).state))
      expect(states).toEqual(['interrupted', 'running', 'adding'])
      expect(await t.store.tasks.addRows(mine.id, producer, 1, rows(1, 1), NOW)).toMatchObject({
        ok: false,
        reason: 'taken-over',
      })
      const owner = await t.owner()
      const taken = await t.fetch(owner, 'q', 9)
      await t.settleAndFetch(owner, { settlements: taken.map((one) => finish(one)) })
      expect(await record(t, mine)).toMatchObject({ state: 'interrupted', counts: { finished: 1, enqueued: 0 } })
    },
  },
  {
    name: 'interrupted adding leaves the task interrupted, with the added rows',
    async run(t) {
      const task = spec(1)
      await t.store.tasks.create(task)
      await t.store.tasks.addRows(task.id, PRODUCER, 0, rows(0, 2), NOW)
      expect(await t.store.tasks.endAdding(task.id, PRODUCER, NOW, true)).toEqual({ ok: true, total: 2 })
      expect(await record(t, task)).toMatchObject({ state: 'interrupted', total: 2, finishedAt: null })
      expect(await t.store.tasks.addRows(task.id, PRODUCER, 2, rows(2, 1), NOW)).toMatchObject({
        ok: false,
        reason: 'taken-over',
      })
    },
  },
  {
    name: 'a result of 16 kB is kept exactly',
    async run(t) {
      const task = await taskWith(t, 1, 1)
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      const result = JSON.stringify('č'.repeat(8000))
      await t.settleAndFetch(owner, { settlements: [done(first, { effects: [change(first, { result })] })] })
      expect((await eventOf(t, task, 0)).result === result).toBe(true)
    },
  },
  {
    name: 'several effects on one item are all applied',
    async run(t) {
      const task = await taskWith(t, 1, 4, { window: 4 })
      const owner = await t.owner()
      const taken = await t.fetch(owner, 'q', 4)
      const effects = taken.map((one) => change(one, { window: 'keep' }))
      await t.settleAndFetch(owner, { settlements: [done(taken[0], { effects })] })
      expect(await expectExact(t, task)).toMatchObject({ counts: counts({ finished: 4 }), state: 'done' })
    },
  },
]
