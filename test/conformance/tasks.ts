import { expect } from 'vitest'
import type { Message, Store, Taken } from '#dist/store/contract.js'
import { type Case, done, NOW, pause, release, sure, textsOf, toQueue, until } from './bench.ts'
import {
  ADDER,
  begin,
  bury,
  change,
  counts,
  deliver,
  eventOf,
  expectExact,
  finish,
  jidOf,
  payloadOf,
  postpone,
  record,
  rows,
  spec,
  taskId,
  taskWith,
} from './tracked.ts'

const SECOND = 1000

/** Tracked tasks: exact at every instant. */
const creating: Case[] = [
  {
    name: 'a new task is adding, without rows, as it was described',
    async run(t) {
      const task = spec(1, { name: 'dovoz č. 1', meta: '{"kind":"import","big":12345678901234567890}', window: 7 })
      expect(await t.store.createTask(task)).toBe(true)
      expect(await t.store.task(task.id)).toEqual({
        id: task.id,
        name: task.name,
        job: 'RowJob',
        queue: 'q',
        state: 'adding',
        run: expect.any(Number),
        total: 0,
        held: 0,
        window: 7,
        counts: counts({}),
        meta: task.meta,
        createdAt: NOW,
        progressAt: null,
        finishedAt: null,
      })
      expect(await t.store.events(task.id, { limit: 10 })).toEqual([])
    },
  },
  {
    name: 'a task id is used once: the second creation is refused and changes nothing',
    async run(t) {
      await t.store.createTask(spec(1))
      expect(await t.store.createTask(spec(1, { name: 'another', adder: 'other' }))).toBe(false)
      expect((await record(t, spec(1))).name).toBe('task 1')
      expect(await t.store.addRows(taskId(1), ADDER, 0, rows(0, 1), NOW)).toEqual({ ok: true, total: 1 })
    },
  },
  {
    name: 'an unknown task is null, has no events, and takes no rows',
    async run(t) {
      expect(await t.store.task(taskId(9))).toBe(null)
      expect(await t.store.event(jidOf(taskId(9), 0))).toBe(null)
      expect(await t.store.events(taskId(9), { limit: 5 })).toEqual([])
      const refused = { ok: false, reason: 'unknown' }
      expect(await t.store.addRows(taskId(9), ADDER, 0, rows(0, 1), NOW)).toMatchObject(refused)
      expect(await t.store.endAdding(taskId(9), ADDER, NOW)).toMatchObject(refused)
      const task = await taskWith(t, 1, 1)
      expect(await t.store.event(jidOf(task.id, 1))).toBe(null)
    },
  },
  {
    name: 'tasks are listed newest first, in pages that miss and repeat none',
    async run(t) {
      const made = [3, 1, 2, 2, 2, 5, 4].map((second, n) => spec(n + 1, { createdAt: NOW + second * SECOND }))
      for (const task of made) await t.store.createTask(task)
      for (const limit of [1, 2, 3, 10]) {
        const seen = []
        for (let page = await t.store.tasks({ limit }); page.length > 0; ) {
          expect(page.length).toBeLessThanOrEqual(limit)
          seen.push(...page)
          const last = sure(page.at(-1))
          page = await t.store.tasks({ before: { createdAt: last.createdAt, id: last.id }, limit })
        }
        expect(seen.map(({ createdAt }) => (createdAt - NOW) / SECOND)).toEqual([5, 4, 3, 2, 2, 2, 1])
        expect(seen.map(({ id }) => id).sort()).toEqual(made.map(({ id }) => id).sort())
      }
    },
  },
]

const adding: Case[] = [
  {
    name: 'the first rows go to the queue in the step that adds them, at most a window of them',
    async run(t) {
      const task = await taskWith(t, 1, 10, { open: true })
      const waiting = await t.waiting('q')
      expect(waiting.map((text) => payloadOf({ text }).args)).toEqual([[0], [1], [2]])
      expect(await record(t, task)).toMatchObject({
        state: 'adding',
        total: 10,
        held: 7,
        counts: counts({ enqueued: 10 }),
      })
      expect(await t.store.stats()).toMatchObject({ enqueued: 3, held: 7 })
    },
  },
  {
    name: 'rows added later fill the window, then wait',
    async run(t) {
      const task = spec(1)
      await t.store.createTask(task)
      for (const [from, placed, held] of [
        [0, 2, 0],
        [2, 3, 1],
        [4, 3, 3],
      ] as const) {
        expect(await t.store.addRows(task.id, ADDER, from, rows(from, 2), NOW)).toEqual({ ok: true, total: from + 2 })
        expect(await t.waiting('q')).toHaveLength(placed)
        expect(await record(t, task)).toMatchObject({ held })
      }
    },
  },
  {
    name: "a row's job is the task's template with args, jid, run and time",
    async run(t) {
      const template =
        '{"class":"RowJob","queue":"q","retry":3,"tags":["č","\\u00e9"],"nested":{"a":[]},"big":9007199254740993}'
      const task = spec(171, { template, window: 20 })
      await t.store.createTask(task)
      const args = [
        '[]',
        '[{}, [], 1.0, 1e3, 12345678901234567890]',
        '[ "žluťoučký \\u010d \\"quoted\\" \\\\ 👩‍👩‍👧" , null ]',
        '[{"args":[1],"jid":"x"}]',
      ]
      await t.store.addRows(
        task.id,
        ADDER,
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
    name: 'a row may bring a whole payload of its own',
    async run(t) {
      const task = spec(1, { window: 1 })
      await t.store.createTask(task)
      const own = (n: number) => `{"class":"Other","args":[${n},1.0],"queue":"q","note":"čau"}`
      await t.store.addRows(task.id, ADDER, 0, [{ args: own(0) }, { args: own(1) }], NOW)
      const owner = await t.owner()
      const [first] = await t.take(owner, 'q')
      const { taken } = await t.turn(owner, { settlements: [finish(first)], take: { queues: ['q'], n: 1 } })
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
    name: "an event is named by its task and index, and knows its row's number and arguments",
    async run(t) {
      const task = spec(0xabc)
      await t.store.createTask(task)
      await t.store.addRows(task.id, ADDER, 0, [{ args: '[1.0]', number: 17 }, { args: '[2]' }], NOW)
      const { run } = await record(t, task)
      const plain = {
        status: 'enqueued',
        run,
        attempts: 0,
        code: null,
        startedAt: null,
        finishedAt: null,
        result: null,
      }
      const events = [
        { ...plain, index: 0, jid: '0000000000000abc00000000', number: 17, args: '[1.0]', messages: [] },
        { ...plain, index: 1, jid: '0000000000000abc00000001', number: null, args: '[2]', messages: [] },
      ]
      expect(await t.store.events(task.id, { limit: 10 })).toEqual(events)
      expect(await eventOf(t, task, 1)).toEqual(events[1])
    },
  },
  {
    name: 'a rejected row gets a final event at once, and no job',
    async run(t) {
      const task = spec(1, { window: 2 })
      await t.store.createTask(task)
      const messages = [{ at: NOW, code: 'bad_price', params: { row: 2, given: 'žádná' } }]
      const answer = await t.store.addRows(
        task.id,
        ADDER,
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
      expect(found).toMatchObject({ total: 5, held: 1, counts: counts({ enqueued: 3, failed: 1, cancelled: 1 }) })
      expect(await eventOf(t, task, 1)).toMatchObject({
        status: 'failed',
        number: 2,
        code: 'bad_price',
        messages,
        args: '[1]',
        attempts: 0,
      })
      expect(await t.store.event(jidOf(task.id, 2))).toMatchObject({ status: 'cancelled', code: null, messages: [] })
    },
  },
  {
    name: 'a chunk that is repeated is answered ok and adds nothing',
    async run(t) {
      const task = spec(1)
      await t.store.createTask(task)
      const first = [{ args: '[0]' }, { args: '[1]', rejected: { status: 'failed' as const, messages: [] } }]
      expect(await t.store.addRows(task.id, ADDER, 0, first, NOW)).toEqual({ ok: true, total: 2 })
      expect(await t.store.addRows(task.id, ADDER, 0, first, NOW)).toEqual({ ok: true, total: 2 })
      expect(await t.store.addRows(task.id, ADDER, 2, rows(2, 3), NOW)).toEqual({ ok: true, total: 5 })
      expect(await t.store.addRows(task.id, ADDER, 2, rows(2, 3), NOW)).toEqual({ ok: true, total: 5 })
      expect(await expectExact(t, task)).toMatchObject({
        total: 5,
        held: 1,
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
      await t.store.createTask(task)
      const other = await t.another()
      for (let from = 0; from < 20; from += 4) {
        const sent = [t.store, other].map((store) => store.addRows(task.id, ADDER, from, rows(from, 4), NOW))
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
    name: 'a chunk beyond the cursor is refused, and the cursor told',
    async run(t) {
      const task = await taskWith(t, 1, 2, { open: true })
      const refused = { ok: false, reason: 'gap', cursor: 2 }
      expect(await t.store.addRows(task.id, ADDER, 3, rows(3, 2), NOW)).toEqual(refused)
      expect(await t.store.addRows(task.id, ADDER, 1, rows(1, 2), NOW)).toEqual(refused)
      expect(await expectExact(t, task)).toMatchObject({ total: 2 })
    },
  },
  {
    name: 'only its adder adds rows and ends adding',
    async run(t) {
      const task = await taskWith(t, 1, 2, { open: true })
      const refused = { ok: false, reason: 'taken-over' }
      expect(await t.store.addRows(task.id, 'other', 2, rows(2, 2), NOW)).toMatchObject(refused)
      expect(await t.store.addRows(task.id, 'other', 0, rows(0, 2), NOW)).toMatchObject(refused)
      expect(await t.store.endAdding(task.id, 'other', NOW)).toMatchObject(refused)
      expect(await expectExact(t, task)).toMatchObject({ total: 2, state: 'adding' })
    },
  },
  {
    name: 'a task that is done takes no more rows',
    async run(t) {
      const task = spec(1)
      await t.store.createTask(task)
      await t.store.endAdding(task.id, ADDER, NOW)
      expect(await t.store.addRows(task.id, ADDER, 0, rows(0, 1), NOW)).toMatchObject({ ok: false, reason: 'ended' })
      expect(await expectExact(t, task)).toMatchObject({ total: 0, state: 'done' })
      expect(await t.waiting('q')).toEqual([])
    },
  },
  {
    name: 'a chunk of 1,000 rows, and another, keep their order through the window',
    async run(t) {
      const task = spec(1, { window: 40 })
      await t.store.createTask(task)
      await t.store.addRows(task.id, ADDER, 0, rows(0, 1000), NOW)
      await t.store.addRows(task.id, ADDER, 1000, rows(1000, 1000), NOW)
      const owner = await t.owner()
      const seen: unknown[] = []
      let taken = await t.take(owner, 'q', 50)
      while (taken.length > 0) {
        expect(taken.length).toBeLessThanOrEqual(40)
        seen.push(...taken.map((one) => payloadOf(one).args[0]))
        const settlements = taken.map((one) => finish(one))
        taken = (await t.turn(owner, { settlements, take: { queues: ['q'], n: 50 } })).taken
      }
      expect(seen).toEqual(Array.from({ length: 2000 }, (_, n) => n))
      expect(await record(t, task)).toMatchObject({ held: 0, counts: counts({ finished: 2000 }), state: 'adding' })
    },
  },
]

const window: Case[] = [
  {
    name: 'a row that leaves lets the next one in, in the same step',
    async run(t) {
      const task = await taskWith(t, 1, 4, { window: 1 })
      const owner = await t.owner()
      let [taken] = await t.take(owner, 'q', 10)
      for (const index of [0, 1, 2, 3]) {
        expect(payloadOf(taken).args).toEqual([index])
        const answer = await t.turn(owner, {
          now: NOW + index * SECOND,
          settlements: [finish(taken)],
          take: { queues: ['q'], n: 10 },
        })
        expect(answer.settled).toEqual(['ok'])
        expect(answer.taken.length).toBe(index < 3 ? 1 : 0)
        if (index < 3) expect(payloadOf(answer.taken[0]).enqueued_at).toBe(NOW + index * SECOND)
        taken = answer.taken[0]
      }
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', counts: counts({ finished: 4 }) })
    },
  },
  {
    name: 'at most a window of rows is in the queue and with owners',
    async run(t) {
      const task = await taskWith(t, 1, 20, { window: 4 })
      const owner = await t.owner()
      const held = await t.take(owner, 'q', 3)
      expect(await t.waiting('q')).toHaveLength(1)
      await t.turn(owner, { settlements: [finish(held[0]), finish(held[1])] })
      expect(await t.waiting('q')).toHaveLength(3)
      held.push(...(await t.take(owner, 'q', 10)))
      expect(held).toHaveLength(6)
      expect(await t.waiting('q')).toEqual([])
      expect(await record(t, task)).toMatchObject({ held: 14, counts: counts({ finished: 2, enqueued: 18 }) })
    },
  },
  {
    name: 'two tasks take turns: a small one is done long before a big one that came first',
    async run(t) {
      const big = await taskWith(t, 1, 40, { window: 2 })
      const small = await taskWith(t, 2, 3, { window: 2 })
      const owner = await t.owner()
      const seen: string[] = []
      let taken = await t.take(owner, 'q')
      while (taken.length > 0) {
        seen.push(payloadOf(taken[0]).jid)
        taken = (await t.turn(owner, { settlements: [finish(taken[0])], take: { queues: ['q'], n: 1 } })).taken
      }
      expect(seen.slice(0, 8)).toEqual([
        jidOf(big.id, 0),
        jidOf(big.id, 1),
        jidOf(small.id, 0),
        jidOf(small.id, 1),
        jidOf(big.id, 2),
        jidOf(big.id, 3),
        jidOf(small.id, 2),
        jidOf(big.id, 4),
      ])
      expect(seen).toHaveLength(43)
      expect(await record(t, small)).toMatchObject({ state: 'done' })
      expect(await record(t, big)).toMatchObject({ state: 'done' })
    },
  },
  {
    name: 'a row that is retried leaves its place to the next, and comes back into the queue when there is room',
    async run(t) {
      const task = await taskWith(t, 1, 2, { window: 1 })
      const owner = await t.owner()
      const [first] = await t.take(owner, 'q')
      const answer = await t.turn(owner, { settlements: [postpone(first, 5)], take: { queues: ['q'], n: 5 } })
      expect(answer.taken.map((one) => payloadOf(one).args)).toEqual([[1]])
      await t.turn(owner, { settlements: [finish(answer.taken[0])] })
      expect(await record(t, task)).toMatchObject({ state: 'running', counts: counts({ finished: 1, enqueued: 1 }) })

      const text = `${first.text} `
      const effects = [change(first, { status: 'enqueued', place: 'enter' })]
      expect(
        await t.store.swap('retry', [{ text: first.text, score: 5, to: toQueue('q', text), effects }], NOW),
      ).toEqual(['ok'])
      expect(await t.waiting('q')).toEqual([text])
      expect(await expectExact(t, task)).toMatchObject({ held: 0 })
      const [again] = await t.take(owner, 'q')
      await t.turn(owner, { settlements: [finish(again, { attempt: 2 })] })
      expect(await record(t, task)).toMatchObject({ state: 'done', counts: counts({ finished: 2 }) })
    },
  },
  {
    name: 'a row that comes back while the window is full waits at the front of the backlog, with its text',
    async run(t) {
      const task = await taskWith(t, 1, 5, { window: 2 })
      const owner = await t.owner()
      const [first, second] = await t.take(owner, 'q', 2)
      await t.turn(owner, { settlements: [postpone(first, 5)] })
      const text = first.text.replace('{', '{"retry_count":0,')
      const effects = [change(first, { status: 'enqueued', place: 'enter' })]
      expect(
        await t.store.swap('retry', [{ text: first.text, score: 5, to: toQueue('q', text), effects }], NOW),
      ).toEqual(['ok'])
      expect(await t.store.size('retry')).toBe(0)
      expect((await t.waiting('q')).map((one) => payloadOf({ text: one }).args)).toEqual([[2]])
      expect(await expectExact(t, task)).toMatchObject({ held: 3, counts: counts({ enqueued: 5 }) })
      expect(await t.store.stats()).toMatchObject({ enqueued: 1, held: 3 })

      await t.turn(owner, { settlements: [finish(second)] })
      const waiting = await t.waiting('q')
      expect(waiting).toHaveLength(2)
      expect(waiting[1]).toBe(text)
      expect(await record(t, task)).toMatchObject({ held: 2 })
      const held = await t.take(owner, 'q', 2)
      await t.turn(owner, { settlements: held.map((one) => finish(one, { attempt: one.text === text ? 2 : 1 })) })
      expect((await t.waiting('q')).map((one) => payloadOf({ text: one }).args)).toEqual([[3], [4]])
    },
  },
  {
    name: 'a job that is released keeps its place',
    async run(t) {
      const task = await taskWith(t, 1, 4, { window: 2 })
      const owner = await t.owner()
      const [first] = await t.take(owner, 'q')
      await t.turn(owner, { settlements: [release(first)] })
      expect(await t.waiting('q')).toHaveLength(2)
      const [again] = await t.take(owner, 'q')
      expect(again.text).toBe(first.text)
      const kept = change(again, { status: 'enqueued', place: 'keep' })
      await t.turn(owner, { started: [begin(again)], settlements: [release(again, { effects: [kept] })] })
      expect(await t.waiting('q')).toHaveLength(2)
      expect(await expectExact(t, task)).toMatchObject({ held: 2, counts: counts({ enqueued: 4 }) })
    },
  },
  {
    name: 'a job recovered from a dead owner keeps its place, and its event goes back to enqueued',
    async run(t) {
      const task = await taskWith(t, 1, 4, { window: 2 })
      const owner = await t.owner()
      const [first, second] = await t.take(owner, 'q', 2)
      await t.turn(owner, { started: [begin(first)] })
      await t.store.claim(owner, null)
      const items = await t.store.stranded(10)
      expect(textsOf(items)).toEqual([second.text, first.text])
      const answers = await t.store.restore(
        items.map((item) => ({
          owner: item.owner,
          queue: item.queue,
          ticket: item.ticket,
          to: toQueue('q', item.text, 'front'),
          effects: [change(item, { status: 'enqueued', place: 'keep' })],
        })),
        NOW,
      )
      expect(answers).toEqual(['ok', 'ok'])
      expect(await t.waiting('q')).toEqual([first.text, second.text])
      expect(await expectExact(t, task)).toMatchObject({ held: 2, counts: counts({ enqueued: 4 }) })
      const next = await t.owner()
      const held = await t.take(next, 'q', 5)
      expect(held).toHaveLength(2)
      await t.turn(next, { settlements: held.map((one) => finish(one, { attempt: 2 })) })
      expect(await t.waiting('q')).toHaveLength(2)
    },
  },
  {
    name: 'a row that is killed or deleted while it waits for its retry gives no second place away',
    async run(t) {
      const task = await taskWith(t, 1, 8, { window: 2 })
      const owner = await t.owner()
      const [first, second] = await t.take(owner, 'q', 2)
      await t.turn(owner, { settlements: [postpone(first, 5), postpone(second, 6)] })
      expect(await record(t, task)).toMatchObject({ held: 4, counts: counts({ enqueued: 8 }) })
      const kill = {
        text: first.text,
        score: 5,
        to: { to: 'dead' as const, text: first.text, score: 9 },
        effects: [change(first, { status: 'error' })],
      }
      const drop = { text: second.text, score: 6, to: null, effects: [change(second, { status: 'cancelled' })] }
      expect(await t.store.swap('retry', [kill, drop], NOW)).toEqual(['ok', 'ok'])
      expect(await t.waiting('q')).toHaveLength(2)
      expect(await expectExact(t, task)).toMatchObject({
        held: 4,
        counts: counts({ error: 1, cancelled: 1, enqueued: 6 }),
      })
    },
  },
  {
    name: 'a row that came back without a place (Ruby retried it) gives none away when it ends',
    async run(t) {
      const task = await taskWith(t, 1, 8, { window: 2 })
      const owner = await t.owner()
      const [first, second] = await t.take(owner, 'q', 2)
      await t.turn(owner, { settlements: [bury(first, 5)] })
      await t.store.swap('dead', [{ text: first.text, score: 5, to: toQueue('q', first.text, 'front') }], NOW)
      const [again] = await t.take(owner, 'q')
      expect(again.text).toBe(first.text)
      await t.turn(owner, { settlements: [finish(again, { attempt: 2 })] })
      expect(await t.waiting('q')).toHaveLength(1)
      expect(await expectExact(t, task)).toMatchObject({ held: 5, counts: counts({ finished: 1, enqueued: 7 }) })
      await t.turn(owner, { settlements: [finish(second)] })
      expect(await t.waiting('q')).toHaveLength(2)
    },
  },
  {
    name: 'a row pushed again in a new run enters the window, or waits in front of the others',
    async run(t) {
      const task = await taskWith(t, 1, 4, { window: 1 })
      const owner = await t.owner()
      const { run } = await record(t, task)
      const [first] = await t.take(owner, 'q')
      await t.turn(owner, { settlements: [finish(first, { status: 'failed' })] })
      const text = first.text.replace(/"hk_run":\d+/, `"hk_run":${run + 1}`)
      const effects = [change({ text }, { attempt: 0, status: 'enqueued', place: 'enter' })]
      await t.store.push([{ ...toQueue('q', text), effects }], NOW)
      expect((await t.waiting('q')).map((one) => payloadOf({ text: one }).args)).toEqual([[1]])
      expect(await expectExact(t, task)).toMatchObject({ held: 3, counts: counts({ enqueued: 4 }) })
      expect(await eventOf(t, task, 0)).toMatchObject({ status: 'enqueued', run: run + 1 })

      const [second] = await t.take(owner, 'q')
      const { taken } = await t.turn(owner, { settlements: [finish(second)], take: { queues: ['q'], n: 5 } })
      expect(textsOf(taken)).toEqual([text])
      const [again] = taken
      expect((await t.turn(owner, { started: [begin(again)] })).started).toEqual(['ok'])
      await t.turn(owner, { settlements: [finish(again)] })
      expect(await eventOf(t, task, 0)).toMatchObject({ status: 'finished', run: run + 1, attempts: 1 })
      await expectExact(t, task)
    },
  },
  {
    name: 'workers on two connections and a submitter at the same time keep the window and the counts',
    shared: true,
    async run(t) {
      const task = spec(1, { window: 4 })
      await t.store.createTask(task)
      const other = await t.another()
      let working = true
      const seen: string[] = []
      const work = async (store: Store) => {
        const owner = await t.owner({ store })
        let taken: Taken[] = []
        while (working || taken.length > 0) {
          const settlements = taken.map((one) => finish(one))
          const answer = await t.turn(owner, { settlements, take: { queues: ['q'], n: 3 } }, store)
          expect(answer.settled).toEqual(settlements.map(() => 'ok'))
          taken = answer.taken
          seen.push(...taken.map((one) => payloadOf(one).jid))
          if (taken.length === 0) await pause(1)
        }
      }
      const submit = async () => {
        for (let from = 0; from < 60; from += 6) {
          await other.addRows(task.id, ADDER, from, rows(from, 6), NOW)
          const { taken, enqueued } = await other.stats()
          expect(taken + enqueued).toBeLessThanOrEqual(4)
        }
        await other.endAdding(task.id, ADDER, NOW)
        await until('the task is done', async () => (await record(t, task)).state === 'done')
        working = false
      }
      await Promise.all([work(t.store), work(other), submit()])
      expect(seen.sort()).toEqual(Array.from({ length: 60 }, (_, i) => jidOf(task.id, i)))
      expect(await expectExact(t, task)).toMatchObject({ held: 0, counts: counts({ finished: 60 }) })
    },
  },
]

const transitions: Case[] = [
  {
    name: 'a row begins, ends, and tells when',
    async run(t) {
      const task = await taskWith(t, 1, 1)
      const owner = await t.owner()
      const [taken] = await t.take(owner, 'q')
      const begun = NOW + 2 * SECOND
      const answer = await t.turn(owner, { now: begun, started: [begin(taken, { at: begun })] })
      expect(answer.started).toEqual(['ok'])
      expect(await eventOf(t, task, 0)).toMatchObject({
        status: 'working',
        attempts: 1,
        startedAt: NOW + 2 * SECOND,
        finishedAt: null,
      })
      expect(await expectExact(t, task)).toMatchObject({ counts: counts({ working: 1 }), progressAt: NOW + 2 * SECOND })

      const settlements = [finish(taken, { at: NOW + 4 * SECOND, result: '{"id":1.0}' })]
      await t.turn(owner, { now: NOW + 4 * SECOND, settlements })
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
    name: 'a row that ended before its beginning was told has both times',
    async run(t) {
      const task = await taskWith(t, 1, 1)
      const owner = await t.owner()
      const [taken] = await t.take(owner, 'q')
      await t.turn(owner, { settlements: [finish(taken, { startedAt: NOW + SECOND, at: NOW + 3 * SECOND })] })
      expect(await eventOf(t, task, 0)).toMatchObject({
        attempts: 1,
        startedAt: NOW + SECOND,
        finishedAt: NOW + 3 * SECOND,
      })
    },
  },
  {
    name: 'beginning and end told in one turn are applied in this order',
    async run(t) {
      const task = await taskWith(t, 1, 1)
      const owner = await t.owner()
      const [taken] = await t.take(owner, 'q')
      const answer = await t.turn(owner, { started: [begin(taken)], settlements: [finish(taken)] })
      expect(answer).toMatchObject({ started: ['ok'], settled: ['ok'] })
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', counts: counts({ finished: 1 }) })
    },
  },
  {
    name: 'every way to end is counted, with its code and messages',
    async run(t) {
      const task = await taskWith(t, 1, 4, { window: 4 })
      const owner = await t.owner()
      const taken = await t.take(owner, 'q', 4)
      const messages = [{ at: NOW, code: 'refused', params: { field: 'cena', limits: [1, 2.5] } }]
      const ends = [
        { status: 'finished' as const },
        { status: 'failed' as const, code: 'bad_price', messages },
        { status: 'error' as const, code: 'TypeError', messages },
        { status: 'cancelled' as const, code: 'discarded' },
      ]
      await t.turn(owner, { settlements: taken.map((one, i) => finish(one, ends[i])) })
      const events = await t.store.events(task.id, { limit: 10 })
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
      const [taken] = await t.take(owner, 'q')
      await t.turn(owner, { started: [begin(taken, { attempt: 2 })] })
      const before = await eventOf(t, task, 0)
      await deliver(t, change(taken, { attempt: 1, status: 'finished' }), sure(begin(taken, { attempt: 1 }).effects[0]))
      expect(await eventOf(t, task, 0)).toEqual(before)
      expect(await expectExact(t, task)).toMatchObject({ state: 'running', counts: counts({ working: 1 }) })

      await t.turn(owner, { settlements: [finish(taken, { attempt: 2 })] })
      const ended = await eventOf(t, task, 0)
      for (const attempt of [1, 2]) await deliver(t, sure(begin(taken, { attempt }).effects[0]))
      await deliver(t, change(taken, { attempt: 1, status: 'error', code: 'late' }))
      expect(await eventOf(t, task, 0)).toEqual(ended)
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', counts: counts({ finished: 1 }) })
    },
  },
  {
    name: 'an older run counts as older, a newer one as newer',
    async run(t) {
      const task = await taskWith(t, 1, 1)
      const owner = await t.owner()
      const [taken] = await t.take(owner, 'q')
      const { run } = await record(t, task)
      await t.turn(owner, { settlements: [finish(taken, { attempt: 3, status: 'failed' })] })
      await deliver(t, change(taken, { run: run + 1, attempt: 1, status: 'working', place: 'keep' }))
      expect(await eventOf(t, task, 0)).toMatchObject({ status: 'working', run: run + 1 })
      await deliver(t, change(taken, { run, attempt: 9, status: 'finished' }))
      expect(await eventOf(t, task, 0)).toMatchObject({ status: 'working', run: run + 1 })
      await expectExact(t, task)
    },
  },
  {
    name: 'a settlement whose effect is stale settles its job all the same',
    async run(t) {
      const task = await taskWith(t, 1, 2, { window: 2 })
      const owner = await t.owner()
      const [first] = await t.take(owner, 'q')
      await deliver(t, change(first, { attempt: 4, status: 'error', place: 'keep' }))
      expect((await t.turn(owner, { settlements: [finish(first, { attempt: 1 })] })).settled).toEqual(['ok'])
      expect(await eventOf(t, task, 0)).toMatchObject({ status: 'error' })
      expect(await t.store.stats()).toMatchObject({ processed: 1, taken: 0 })
      await expectExact(t, task)
    },
  },
  {
    name: 'a stale effect gives no place and takes none: the job goes where it was sent',
    async run(t) {
      const task = await taskWith(t, 1, 4, { window: 1 })
      const owner = await t.owner()
      const { run } = await record(t, task)
      const [first] = await t.take(owner, 'q')
      await t.turn(owner, { settlements: [bury(first, 5)] })
      await deliver(t, change(first, { run: run + 1, attempt: 1, status: 'error', place: 'keep' }))
      const before = await record(t, task)
      const event = await eventOf(t, task, 0)

      const effects = [change(first, { status: 'enqueued', place: 'enter' })]
      const swap = { text: first.text, score: 5, to: toQueue('q', first.text), effects }
      expect(await t.store.swap('dead', [swap], NOW)).toEqual(['ok'])
      expect((await t.waiting('q')).map((text) => payloadOf({ text }).args)).toEqual([[1], [0]])
      expect(await expectExact(t, task)).toEqual(before)
      expect(await eventOf(t, task, 0)).toEqual(event)

      const [second, again] = await t.take(owner, 'q', 2)
      expect((await t.turn(owner, { started: [begin(again, { attempt: 2 })] })).started).toEqual(['superseded'])
      await t.turn(owner, { settlements: [finish(again, { attempt: 2 })] })
      expect(await t.waiting('q')).toEqual([])
      await t.turn(owner, { settlements: [finish(second)] })
      expect(await t.waiting('q')).toHaveLength(1)
      await expectExact(t, task)
    },
  },
  {
    name: 'an attempt that the event has moved on from is superseded at its start',
    async run(t) {
      const task = await taskWith(t, 1, 2, { window: 2 })
      const owner = await t.owner()
      const [first, second] = await t.take(owner, 'q', 2)
      await deliver(t, change(first, { attempt: 2, status: 'cancelled', place: 'keep' }))
      const answer = await t.turn(owner, { started: [begin(first, { attempt: 2 }), begin(second)] })
      expect(answer.started).toEqual(['superseded', 'ok'])
      expect(await expectExact(t, task)).toMatchObject({ counts: counts({ cancelled: 1, working: 1 }) })
      const next = await t.turn(owner, { started: [begin(first, { attempt: 3 }), begin(second)] })
      expect(next.started).toEqual(['ok', 'ok'])
    },
  },
  {
    name: 'an effect delivered twice is applied once',
    async run(t) {
      const task = await taskWith(t, 1, 6, { window: 2 })
      const owner = await t.owner()
      const [first] = await t.take(owner, 'q')
      const begun = begin(first)
      await t.turn(owner, { started: [begun] })
      await t.turn(owner, { started: [begun] })
      expect(await expectExact(t, task)).toMatchObject({ held: 4, counts: counts({ working: 1, enqueued: 5 }) })
      const failure = { status: 'failed' as const, code: 'no' }
      await t.turn(owner, { settlements: [finish(first, failure)] })
      expect(await record(t, task)).toMatchObject({ held: 3 })
      for (let i = 0; i < 2; i++) await deliver(t, change(first, failure))
      expect(await t.waiting('q')).toHaveLength(2)
      expect(await eventOf(t, task, 0)).toMatchObject({ status: 'failed', attempts: 1 })
      expect(await expectExact(t, task)).toMatchObject({ held: 3, counts: counts({ failed: 1, enqueued: 5 }) })
    },
  },
  {
    name: 'an effect delivered twice leaves its message once',
    async run(t) {
      const task = await taskWith(t, 1, 1)
      const owner = await t.owner()
      const [first] = await t.take(owner, 'q')
      const failure = { status: 'failed' as const, messages: [{ at: NOW, code: 'no', params: {} }] }
      await t.turn(owner, { settlements: [finish(first, failure)] })
      await deliver(t, change(first, failure))
      expect((await eventOf(t, task, 0)).messages).toHaveLength(1)
    },
  },
  {
    name: 'a final event is re-opened by a newer attempt: done, running, done again',
    async run(t) {
      const task = await taskWith(t, 1, 2, { window: 2 })
      const owner = await t.owner()
      const [first, second] = await t.take(owner, 'q', 2)
      await t.turn(owner, { settlements: [bury(first, 7), finish(second)] })
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', counts: counts({ error: 1, finished: 1 }) })
      const { run } = await record(t, task)

      const effects = [change(first, { status: 'enqueued', place: 'enter' })]
      await t.store.swap('dead', [{ text: first.text, score: 7, to: toQueue('q', first.text), effects }], NOW)
      expect(await expectExact(t, task)).toMatchObject({
        state: 'running',
        run,
        counts: counts({ enqueued: 1, finished: 1 }),
      })
      const [again] = await t.take(owner, 'q')
      expect((await t.turn(owner, { started: [begin(again, { attempt: 2 })] })).started).toEqual(['ok'])
      expect(await expectExact(t, task)).toMatchObject({ counts: counts({ working: 1, finished: 1 }) })
      await t.turn(owner, { settlements: [finish(again, { attempt: 2 })] })
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', run, counts: counts({ finished: 2 }) })
      expect(await eventOf(t, task, 0)).toMatchObject({ status: 'finished', attempts: 2 })
    },
  },
  {
    name: 'a finished event re-opened without a settlement of ours (Ruby retried it) is counted too',
    async run(t) {
      const task = await taskWith(t, 1, 2, { window: 2 })
      const owner = await t.owner()
      const [first, second] = await t.take(owner, 'q', 2)
      await t.turn(owner, { settlements: [bury(first, 7), finish(second)] })
      await t.store.swap('dead', [{ text: first.text, score: 7, to: toQueue('q', first.text) }], NOW)
      expect(await record(t, task)).toMatchObject({ state: 'done' })
      const [again] = await t.take(owner, 'q')
      expect((await t.turn(owner, { started: [begin(again, { attempt: 2 })] })).started).toEqual(['ok'])
      expect(await expectExact(t, task)).toMatchObject({
        state: 'running',
        counts: counts({ working: 1, finished: 1 }),
      })
      await t.turn(owner, { settlements: [finish(again, { attempt: 2 })] })
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', counts: counts({ finished: 2 }) })
    },
  },
  {
    name: 'an event that finished in the end has no reason left from before',
    async run(t) {
      const task = await taskWith(t, 1, 1)
      const owner = await t.owner()
      const [first] = await t.take(owner, 'q')
      await t.turn(owner, { settlements: [bury(first, 7, { code: 'TypeError' })] })
      expect((await eventOf(t, task, 0)).code).toBe('TypeError')
      const effects = [change(first, { status: 'enqueued', place: 'enter' })]
      await t.store.swap('dead', [{ text: first.text, score: 7, to: toQueue('q', first.text), effects }], NOW)
      const [again] = await t.take(owner, 'q')
      await t.turn(owner, { settlements: [finish(again, { attempt: 2 })] })
      expect((await eventOf(t, task, 0)).code).toBe(null)
    },
  },
  {
    name: 'a task is done only after adding has ended',
    async run(t) {
      const task = await taskWith(t, 1, 1, { open: true })
      const owner = await t.owner()
      const [first] = await t.take(owner, 'q')
      await t.turn(owner, { settlements: [finish(first)] })
      expect(await record(t, task)).toMatchObject({ state: 'adding', finishedAt: null })
      expect(await t.store.addRows(task.id, ADDER, 1, rows(1, 1), NOW)).toEqual({ ok: true, total: 2 })
      expect(await t.store.endAdding(task.id, ADDER, NOW + SECOND)).toEqual({ ok: true, total: 2 })
      expect(await record(t, task)).toMatchObject({ state: 'running', finishedAt: null })
      const [second] = await t.take(owner, 'q')
      await t.turn(owner, { now: NOW + 2 * SECOND, settlements: [finish(second, { at: NOW + 2 * SECOND })] })
      expect(await record(t, task)).toMatchObject({ state: 'done', finishedAt: NOW + 2 * SECOND })
    },
  },
  {
    name: 'a task whose events are all final is done when adding ends, also one without rows',
    async run(t) {
      const empty = spec(1)
      await t.store.createTask(empty)
      expect(await t.store.endAdding(empty.id, ADDER, NOW + SECOND)).toEqual({ ok: true, total: 0 })
      expect(await record(t, empty)).toMatchObject({ state: 'done', finishedAt: NOW + SECOND })

      const rejected = spec(2)
      await t.store.createTask(rejected)
      await t.store.addRows(rejected.id, ADDER, 0, [{ args: '[]', rejected: { status: 'failed', messages: [] } }], NOW)
      await t.store.endAdding(rejected.id, ADDER, NOW + SECOND)
      expect(await record(t, rejected)).toMatchObject({ state: 'done', counts: counts({ failed: 1 }) })
    },
  },
  {
    name: 'ending adding again changes nothing',
    async run(t) {
      const task = await taskWith(t, 1, 1)
      const before = await record(t, task)
      await t.store.endAdding(task.id, ADDER, NOW + 9 * SECOND)
      expect(await record(t, task)).toEqual(before)
    },
  },
  {
    name: 'a taken job is not settled by the effect of another: places and jobs of other tasks are not touched',
    async run(t) {
      const one = await taskWith(t, 1, 4, { window: 1, queue: 'q' })
      const two = await taskWith(t, 2, 4, { window: 1, queue: 'p' })
      const owner = await t.owner({ queues: ['q', 'p'] })
      const [a] = await t.take(owner, 'q')
      await t.turn(owner, { settlements: [finish(a)] })
      expect(await record(t, one)).toMatchObject({ held: 2, counts: counts({ finished: 1, enqueued: 3 }) })
      expect(await record(t, two)).toMatchObject({ held: 3, counts: counts({ enqueued: 4 }) })
      expect(await t.waiting('p')).toHaveLength(1)
    },
  },
  {
    name: 'a fenced settlement has no effects',
    async run(t) {
      const task = await taskWith(t, 1, 3, { window: 1 })
      const owner = await t.owner()
      const [first] = await t.take(owner, 'q')
      await t.store.claim(owner, null)
      const answer = await t.turn(owner, { started: [begin(first)], settlements: [finish(first)] })
      expect(answer.settled).toEqual(['fenced'])
      const next = await t.owner()
      expect((await t.turn(next, { settlements: [finish(first)] })).settled).toEqual(['fenced'])
      expect(await expectExact(t, task)).toMatchObject({ held: 2, counts: counts({ enqueued: 3 }), progressAt: null })
    },
  },
  {
    name: 'a swap and a restore that come too late have no effects',
    async run(t) {
      const task = await taskWith(t, 1, 2, { window: 1 })
      const owner = await t.owner()
      const [first] = await t.take(owner, 'q')
      const effects = [change(first, { status: 'error' })]
      const swap = { text: first.text, score: 1, to: null, effects }
      expect(await t.store.swap('retry', [swap], NOW)).toEqual(['gone'])
      const restore = { owner, queue: 'q', ticket: first.ticket, to: toQueue('q', first.text), effects }
      expect(await t.store.restore([restore], NOW)).toEqual(['gone'])
      expect(await expectExact(t, task)).toMatchObject({ held: 1, counts: counts({ enqueued: 2 }) })
    },
  },
]

const keeping: Case[] = [
  {
    name: 'arguments are kept or dropped as the task says',
    async run(t) {
      const kept = []
      for (const [n, keepParams] of (['rejected', 'all', 'none'] as const).entries()) {
        const queue = `q${n}`
        const task = spec(n + 1, { keepParams, queue, window: 6 })
        await t.store.createTask(task)
        const rejected = { args: '[9]', rejected: { status: 'failed' as const, messages: [] } }
        await t.store.addRows(task.id, ADDER, 0, [...rows(0, 5), rejected], NOW)
        const owner = await t.owner({ queues: [queue] })
        const [a, b, c, d] = await t.take(owner, queue, 4)
        await t.turn(owner, {
          settlements: [finish(a), finish(b, { status: 'failed' }), bury(c, 1), postpone(d, 1)],
        })
        kept.push((await t.store.events(task.id, { limit: 9 })).map(({ args }) => args))
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
      const taken = await t.take(owner, 'q', 12)
      await t.turn(owner, {
        settlements: taken
          .filter((_, i) => i % 3 !== 0)
          .map((one, i) => finish(one, { status: i % 2 === 0 ? 'failed' : 'cancelled' })),
      })
      const indexes = async (query: Parameters<typeof t.store.events>[1]) =>
        (await t.store.events(task.id, query)).map(({ index }) => index)
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
    name: 'messages add up over the whole life, whatever the state, at most 50',
    async run(t) {
      const task = await taskWith(t, 1, 2)
      const owner = await t.owner()
      const [first] = await t.take(owner, 'q')
      const jid = jidOf(task.id, 0)
      const note = (n: number): Message => ({ at: NOW + n * SECOND, code: 'note', params: { n, text: `č ${n}` } })
      await t.store.message(jid, note(0))
      await t.turn(owner, { started: [begin(first, { messages: [note(1)] })] })
      await t.store.message(jid, note(2))
      await t.turn(owner, { settlements: [finish(first, { messages: [note(3), note(4)] })] })
      await t.store.message(jid, note(5))
      expect((await eventOf(t, task, 0)).messages).toEqual([0, 1, 2, 3, 4, 5].map(note))
      expect((await eventOf(t, task, 1)).messages).toEqual([])
      for (let n = 6; n < 70; n++) await t.store.message(jid, note(n))
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
    name: 'a result of 16 kB is kept exactly',
    async run(t) {
      const task = await taskWith(t, 1, 1)
      const owner = await t.owner()
      const [first] = await t.take(owner, 'q')
      const result = JSON.stringify('č'.repeat(8000))
      await t.turn(owner, { settlements: [done(first, { effects: [change(first, { result })] })] })
      expect((await eventOf(t, task, 0)).result === result).toBe(true)
    },
  },
  {
    name: 'several effects on one item are all applied',
    async run(t) {
      const task = await taskWith(t, 1, 4, { window: 4 })
      const owner = await t.owner()
      const taken = await t.take(owner, 'q', 4)
      const effects = taken.map((one) => change(one, { place: 'keep' }))
      await t.turn(owner, { settlements: [done(taken[0], { effects })] })
      expect(await expectExact(t, task)).toMatchObject({ counts: counts({ finished: 4 }), state: 'done' })
    },
  },
]

export const tasks: Case[] = [...creating, ...adding, ...window, ...transitions, ...keeping]
