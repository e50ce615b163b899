import { expect } from 'vitest'
import type { EventRecord, NewRow } from '#dist/store/contract.js'
import { type Case, NOW, sure } from '../bench.ts'
import {
  counts,
  eventOf,
  expectExact,
  finish,
  jidOf,
  PRODUCER,
  payloadOf,
  record,
  rows,
  spec,
  taskWith,
} from './tracked.ts'

const SECOND = 1000

/** Rows come into a task: in order, once each, with the first of them already in the queue. */
export const taskRows: Case[] = [
  {
    name: 'the first rows go to the queue in the step that adds them, at most a window of them',
    async run(t) {
      const task = await taskWith(t, 1, 10, { open: true })
      const waiting = await t.waiting('q')
      expect(waiting.map((text) => payloadOf({ text }).args)).toEqual([[0], [1], [2]])
      expect(await record(t, task)).toMatchObject({
        state: 'adding',
        total: 10,
        backlog: 7,
        counts: counts({ enqueued: 10 }),
      })
      expect(await t.store.metrics.totals()).toMatchObject({ enqueued: 3, backlog: 7 })
    },
  },
  {
    name: 'rows added later fill the window, then wait',
    async run(t) {
      const task = spec(1)
      await t.store.tasks.create(task)
      for (const [from, placed, backlog] of [
        [0, 2, 0],
        [2, 3, 1],
        [4, 3, 3],
      ] as const) {
        expect(await t.store.tasks.addRows(task.id, PRODUCER, from, rows(from, 2), NOW)).toEqual({
          ok: true,
          total: from + 2,
        })
        expect(await t.waiting('q')).toHaveLength(placed)
        expect(await record(t, task)).toMatchObject({ backlog })
      }
    },
  },
  {
    name: "a row's job is the task's template with args, jid, run and time",
    async run(t) {
      const template =
        '{"class":"RowJob","queue":"q","retry":3,"tags":["č","\\u00e9"],"nested":{"a":[]},"big":9007199254740993}'
      const task = spec(171, { template, window: 20 })
      await t.store.tasks.create(task)
      const args = [
        '[]',
        '[{}, [], 1.0, 1e3, 12345678901234567890]',
        '[ "žluťoučký \\u010d \\"quoted\\" \\\\ 👩‍👩‍👧" , null ]',
        '[{"args":[1],"jid":"x"}]',
      ]
      await t.store.tasks.addRows(
        task.id,
        PRODUCER,
        0,
        args.map((one) => ({ args: one })),
        NOW + 5 * SECOND,
      )
      const { run } = await record(t, task)
      const waiting = await t.waiting('q')
      expect(waiting).toHaveLength(args.length)
      waiting.forEach((text, index) => {
        expect(JSON.parse(text)).toEqual({
          ...(JSON.parse(template) as object),
          args: JSON.parse(sure(args[index])) as unknown,
          jid: jidOf(task.id, index),
          hk_run: run,
          enqueued_at: NOW + 5 * SECOND,
        })
        expect(text).toContain(args[index])
        expect(text).toContain('"big":9007199254740993')
      })
    },
  },
  {
    name: 'an empty template gives a whole payload too',
    async run(t) {
      const task = await taskWith(t, 1, 1, { template: '{}' })
      const [text] = await t.waiting('q')
      expect(payloadOf({ text })).toMatchObject({ args: [0], jid: jidOf(task.id, 0) })
    },
  },
  {
    name: 'a template may want the time in seconds, which then always has a fraction',
    async run(t) {
      const template = '{"class":"RowJob","queue":"q","enqueued_at":0.0}'
      const task = spec(1, { template, window: 9 })
      await t.store.tasks.create(task)
      const rest = (index: number, time: string) => `"jid":"${jidOf(task.id, index)}","hk_run":1,"enqueued_at":${time}}`
      const add = (index: number, args: string, ms: number) =>
        t.store.tasks.addRows(task.id, PRODUCER, index, [{ args }], NOW + ms)
      await add(0, '[0]', 0)
      await add(1, '[1]', 5)
      await add(2, '[2]', 120)
      await add(3, '{"class":"Other","args":[]}', 999)
      const second = NOW / 1000
      expect(await t.waiting('q')).toEqual([
        `{"class":"RowJob","queue":"q","args":[0],${rest(0, `${second}.0`)}`,
        `{"class":"RowJob","queue":"q","args":[1],${rest(1, `${second}.005`)}`,
        `{"class":"RowJob","queue":"q","args":[2],${rest(2, `${second}.12`)}`,
        `{"class":"Other","args":[],${rest(3, `${second}.999`)}`,
      ])
    },
  },
  {
    name: 'a row may bring a whole payload of its own',
    async run(t) {
      const task = spec(1, { window: 1 })
      await t.store.tasks.create(task)
      const own = (n: number) => `{"class":"Other","args":[${n},1.0],"queue":"q","note":"čau"}`
      await t.store.tasks.addRows(task.id, PRODUCER, 0, [{ args: own(0) }, { args: own(1) }], NOW)
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      const { fetched: taken } = await t.settleAndFetch(owner, {
        settlements: [finish(first)],
        fetch: { queues: ['q'], n: 1 },
      })
      const { run } = await record(t, task)
      for (const [index, { text }] of [first, taken[0]].entries()) {
        expect(payloadOf({ text })).toMatchObject({
          class: 'Other',
          note: 'čau',
          args: [index, 1],
          jid: jidOf(task.id, index),
          hk_run: run,
        })
        expect(text).toContain(`[${index},1.0]`)
      }
    },
  },
  {
    name: 'the source of a row is kept with its arguments, and dropped with them',
    async run(t) {
      for (const [n, keepArgs, expected] of [
        [1, 'rejected', [null, '{"a":" 1 "}', null]],
        [2, 'none', [null, null, null]],
        [3, 'all', ['{"a":" 0 "}', '{"a":" 1 "}', null]],
      ] as const) {
        const task = spec(n, { keepArgs, queue: `q${n}` })
        await t.store.tasks.create(task)
        const all = [{ args: '[0]', source: '{"a":" 0 "}' }, { args: '[1]', source: '{"a":" 1 "}' }, { args: '[2]' }]
        await t.store.tasks.addRows(task.id, PRODUCER, 0, all, NOW)
        expect((await t.store.tasks.events(task.id, { limit: 9 })).map(({ source }) => source)).toEqual([
          '{"a":" 0 "}',
          '{"a":" 1 "}',
          null,
        ])
        const owner = await t.owner()
        const [first, second] = await t.fetch(owner, `q${n}`, 2)
        await t.settleAndFetch(owner, {
          settlements: [finish(sure(first)), finish(sure(second), { status: 'failed' })],
        })
        const kept = (await t.store.tasks.events(task.id, { limit: 9 })).map(({ source }) => source)
        expect(kept).toEqual(expected)
      }
    },
  },
  {
    name: "an event is named by its task and index, and knows its row's number and arguments",
    async run(t) {
      const task = spec(0xabc)
      await t.store.tasks.create(task)
      await t.store.tasks.addRows(task.id, PRODUCER, 0, [{ args: '[1.0]', number: 17 }, { args: '[2]' }], NOW)
      const { run } = await record(t, task)
      const plain = {
        job: null,
        location: 'window',
        status: 'enqueued',
        run,
        attempts: 0,
        source: null,
        code: null,
        startedAt: null,
        finishedAt: null,
        result: null,
      }
      const events = [
        { ...plain, index: 0, jid: '0000000000000abc00000000', number: 17, args: '[1.0]', messages: [] },
        { ...plain, index: 1, jid: '0000000000000abc00000001', number: null, args: '[2]', messages: [] },
      ]
      expect(await t.store.tasks.events(task.id, { limit: 10 })).toEqual(events)
      expect(await eventOf(t, task, 1)).toEqual(events[1])
    },
  },
  {
    name: 'a caller that uses only arguments finds the same rows, with their arguments, sources and jobs',
    async run(t) {
      const task = spec(1, { keepArgs: 'all', window: 3 })
      await t.store.tasks.create(task)
      const rejected = {
        status: 'failed' as const,
        code: 'bad',
        messages: [{ at: NOW, code: 'failed', params: { text: 'no' } }],
      }
      const all: NewRow[] = [
        { args: '[0]', source: '{"a":" 0 "}', number: 2 },
        { args: '[1]' },
        { args: '[2]', source: '{"a":" 2 "}', number: 4, rejected },
        { args: '{"class":"Other","args":[3]}', job: 'Other', rejected },
        { args: '[4]', source: '{"a":" 4 "}' },
        { args: '[5]', source: '{"a":" 5 "}' },
      ]
      await t.store.tasks.addRows(task.id, PRODUCER, 0, all, NOW)
      const owner = await t.owner()
      const [first, second] = await t.fetch(owner, 'q', 2)
      await t.settleAndFetch(owner, {
        settlements: [finish(sure(first)), finish(sure(second), { status: 'error', code: 'lost' })],
      })
      const bare = (events: EventRecord[]) =>
        events.map((event) => ({ ...event, code: null, result: null, messages: [] }))
      for (const query of [
        {},
        { status: ['failed' as const, 'error' as const] },
        { indexes: [5, 3, 1] },
        { code: 'bad' },
      ]) {
        const whole = await t.store.tasks.events(task.id, { ...query, limit: 9 })
        const some = await t.store.tasks.events(task.id, { ...query, argsOnly: true, limit: 9 })
        expect(whole.length).toBeGreaterThan(0)
        expect(bare(some)).toEqual(bare(whole))
      }
    },
  },
  {
    name: 'a rejected row gets a final event at once, and no job',
    async run(t) {
      const task = spec(1, { window: 2 })
      await t.store.tasks.create(task)
      const messages = [{ at: NOW, code: 'bad_price', params: { row: 2, given: 'žádná' } }]
      const answer = await t.store.tasks.addRows(
        task.id,
        PRODUCER,
        0,
        [
          { args: '[0]' },
          { args: '[1]', number: 2, rejected: { status: 'failed', code: 'bad_price', messages } },
          { args: '[2]', rejected: { status: 'cancelled', messages: [] } },
          { args: '[3]' },
          { args: '[4]' },
        ],
        NOW,
      )
      expect(answer).toEqual({ ok: true, total: 5 })
      expect((await t.waiting('q')).map((text) => payloadOf({ text }).args)).toEqual([[0], [3]])
      const found = await expectExact(t, task)
      expect(found).toMatchObject({ total: 5, backlog: 1, counts: counts({ enqueued: 3, failed: 1, cancelled: 1 }) })
      expect(found.endedBefore).toBe(2)
      expect(await eventOf(t, task, 1)).toMatchObject({
        status: 'failed',
        number: 2,
        code: 'bad_price',
        messages,
        args: '[1]',
        attempts: 0,
      })
      expect(await t.store.tasks.event(jidOf(task.id, 2))).toMatchObject({
        status: 'cancelled',
        code: null,
        messages: [],
      })
    },
  },
  {
    name: 'rows leave the backlog many at a time and in order, with any entries between them',
    async run(t) {
      const task = spec(1, { window: 4 })
      await t.store.tasks.create(task)
      const rejected = { status: 'failed' as const, code: 'no', messages: [] }
      const whole = (n: number) => ({ args: `{"class":"Other","queue":"q","args":[${n}]}`, job: 'Other' })
      const list: NewRow[] = rows(0, 30).map((row, n) =>
        n % 7 === 5 ? { ...row, rejected } : n === 20 ? whole(n) : row,
      )
      await t.store.tasks.addRows(task.id, PRODUCER, 0, list.slice(0, 11), NOW)
      await t.store.tasks.addRows(task.id, PRODUCER, 11, list.slice(11), NOW)
      const wanted = list.flatMap((row, n) => (row.rejected ? [] : [n]))
      const owner = await t.owner()
      const seen: unknown[] = []
      for (;;) {
        const waits = Math.min(4, wanted.length - seen.length)
        expect(await t.store.jobs.queues(['q'])).toMatchObject([{ size: waits }])
        const taken = await t.fetch(owner, 'q', 3)
        if (taken.length === 0) break
        for (const one of taken) {
          const { jid, args, hk_run: run } = payloadOf(one)
          expect({ jid, run }).toEqual({ jid: jidOf(task.id, args[0] as number), run: 1 })
          seen.push(args[0])
        }
        await t.settleAndFetch(owner, { settlements: taken.map((one) => finish(one)) })
        await expectExact(t, task)
      }
      expect(seen).toEqual(wanted)
      await t.store.tasks.endAdding(task.id, PRODUCER, NOW)
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', backlog: 0, inWindow: 0 })
    },
  },
  {
    name: 'a repeated chunk is answered ok and adds nothing',
    async run(t) {
      const task = spec(1)
      await t.store.tasks.create(task)
      const first = [{ args: '[0]' }, { args: '[1]', rejected: { status: 'failed' as const, messages: [] } }]
      expect(await t.store.tasks.addRows(task.id, PRODUCER, 0, first, NOW)).toEqual({ ok: true, total: 2 })
      expect(await t.store.tasks.addRows(task.id, PRODUCER, 0, first, NOW)).toEqual({ ok: true, total: 2 })
      expect(await t.store.tasks.addRows(task.id, PRODUCER, 2, rows(2, 3), NOW)).toEqual({ ok: true, total: 5 })
      expect(await t.store.tasks.addRows(task.id, PRODUCER, 2, rows(2, 3), NOW)).toEqual({ ok: true, total: 5 })
      expect(await expectExact(t, task)).toMatchObject({
        total: 5,
        backlog: 1,
        counts: counts({ enqueued: 4, failed: 1 }),
      })
      expect(await t.waiting('q')).toHaveLength(3)
    },
  },
  {
    name: 'the same chunk sent twice at the same time is added once',
    shared: true,
    async run(t) {
      const task = spec(1, { window: 100 })
      await t.store.tasks.create(task)
      const other = await t.another()
      for (let from = 0; from < 20; from += 4) {
        const sent = [t.store, other].map((store) => store.tasks.addRows(task.id, PRODUCER, from, rows(from, 4), NOW))
        expect(await Promise.all(sent)).toEqual([
          { ok: true, total: from + 4 },
          { ok: true, total: from + 4 },
        ])
      }
      expect(await expectExact(t, task)).toMatchObject({ total: 20 })
      expect(new Set((await t.waiting('q')).map((text) => payloadOf({ text }).jid)).size).toBe(20)
    },
  },
  {
    name: 'a chunk beyond the cursor is refused with the cursor',
    async run(t) {
      const task = await taskWith(t, 1, 2, { open: true })
      const refused = { ok: false, reason: 'gap', cursor: 2 }
      expect(await t.store.tasks.addRows(task.id, PRODUCER, 3, rows(3, 2), NOW)).toEqual(refused)
      expect(await t.store.tasks.addRows(task.id, PRODUCER, 1, rows(1, 2), NOW)).toEqual(refused)
      expect(await expectExact(t, task)).toMatchObject({ total: 2 })
    },
  },
  {
    name: 'only its producer adds rows and ends adding',
    async run(t) {
      const task = await taskWith(t, 1, 2, { open: true })
      const refused = { ok: false, reason: 'taken-over' }
      expect(await t.store.tasks.addRows(task.id, 'other', 2, rows(2, 2), NOW)).toMatchObject(refused)
      expect(await t.store.tasks.addRows(task.id, 'other', 0, rows(0, 2), NOW)).toMatchObject(refused)
      expect(await t.store.tasks.endAdding(task.id, 'other', NOW)).toMatchObject(refused)
      expect(await expectExact(t, task)).toMatchObject({ total: 2, state: 'adding' })
    },
  },
  {
    name: 'a task that is done refuses rows',
    async run(t) {
      const task = spec(1)
      await t.store.tasks.create(task)
      await t.store.tasks.endAdding(task.id, PRODUCER, NOW)
      expect(await t.store.tasks.addRows(task.id, PRODUCER, 0, rows(0, 1), NOW)).toMatchObject({
        ok: false,
        reason: 'ended',
      })
      expect(await expectExact(t, task)).toMatchObject({ total: 0, state: 'done' })
      expect(await t.waiting('q')).toEqual([])
    },
  },
  {
    name: 'a chunk of 1,000 rows, and another, keep their order through the window',
    async run(t) {
      const task = spec(1, { window: 40 })
      await t.store.tasks.create(task)
      await t.store.tasks.addRows(task.id, PRODUCER, 0, rows(0, 1000), NOW)
      await t.store.tasks.addRows(task.id, PRODUCER, 1000, rows(1000, 1000), NOW)
      const owner = await t.owner()
      const seen: unknown[] = []
      let taken = await t.fetch(owner, 'q', 50)
      while (taken.length > 0) {
        expect(taken.length).toBeLessThanOrEqual(40)
        seen.push(...taken.map((one) => payloadOf(one).args[0]))
        const settlements = taken.map((one) => finish(one))
        taken = (await t.settleAndFetch(owner, { settlements, fetch: { queues: ['q'], n: 50 } })).fetched
      }
      expect(seen).toEqual(Array.from({ length: 2000 }, (_, n) => n))
      expect(await record(t, task)).toMatchObject({ backlog: 0, counts: counts({ finished: 2000 }), state: 'adding' })
    },
  },
]
