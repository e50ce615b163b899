import { expect } from 'vitest'
import type { NewRow } from '#dist/store/contract.js'
import { type Case, NOW, release } from '../bench.ts'
import {
  argsIn,
  begin,
  change,
  counts,
  eventOf,
  expectExact,
  finish,
  PRODUCER,
  payloadOf,
  REASON,
  record,
  rows,
  spec,
  taskId,
  taskWith,
  twice,
  work,
} from './tracked.ts'

/** Who may add rows, one beside and after another. */
export const taskProducers: Case[] = [
  {
    name: 'another producer adds to a running task with its own cursor; adding ends with the last producer',
    async run(t) {
      const task = await taskWith(t, 1, 2)
      expect(await twice(t, task, () => t.store.tasks.openAdding(task.id, 'a', NOW))).toEqual({ ok: true, total: 2 })
      expect(await record(t, task)).toMatchObject({ state: 'adding', adding: true })
      await t.store.tasks.openAdding(task.id, 'b', NOW)
      expect(await twice(t, task, () => t.store.tasks.addRows(task.id, 'a', 0, rows(2, 2), NOW))).toEqual({
        ok: true,
        total: 4,
      })
      expect(await twice(t, task, () => t.store.tasks.addRows(task.id, 'b', 0, rows(4, 1), NOW))).toEqual({
        ok: true,
        total: 5,
      })
      expect(await t.store.tasks.addRows(task.id, 'a', 1, rows(9, 2), NOW)).toEqual({
        ok: false,
        reason: 'gap',
        cursor: 2,
      })
      await twice(t, task, () => t.store.tasks.endAdding(task.id, 'a', NOW))
      expect(await record(t, task)).toMatchObject({ state: 'adding', adding: true })
      const owner = await t.owner()
      while ((await work(t, owner)).length > 0);
      expect(await record(t, task)).toMatchObject({ state: 'adding', finishedAt: null })
      await twice(t, task, () => t.store.tasks.endAdding(task.id, 'b', NOW))
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', total: 5, counts: counts({ finished: 5 }) })
    },
  },
  {
    name: 'the fingerprint of the last row stays with the task until the next chunk replaces it',
    async run(t) {
      const task = await taskWith(t, 1, 0, { open: true })
      expect((await record(t, task)).lastRow).toBe(null)
      const add = (from: number, last?: string) =>
        t.store.tasks.addRows(task.id, PRODUCER, from, rows(from, 2), NOW, last)
      await twice(t, task, () => add(0, 'second'))
      expect((await record(t, task)).lastRow).toBe('second')
      await twice(t, task, () => add(2))
      expect((await record(t, task)).lastRow).toBe('second')
      // A chunk that is not added changes no `lastRow`.
      expect(await add(9, 'none')).toMatchObject({ ok: false, reason: 'gap' })
      await twice(t, task, () => add(4, 'sixth'))
      expect((await record(t, task)).lastRow).toBe('sixth')
    },
  },
  {
    name: "an ended or unknown task can't be opened for adding",
    async run(t) {
      const task = await taskWith(t, 1, 0)
      const before = await record(t, task)
      expect(before.state).toBe('done')
      expect(await t.store.tasks.openAdding(task.id, 'a', NOW)).toMatchObject({ ok: false, reason: 'ended' })
      expect(await t.store.tasks.openAdding(task.id, 'a', NOW, PRODUCER)).toMatchObject({ ok: false, reason: 'ended' })
      expect(await record(t, task)).toEqual(before)
      expect(await t.store.tasks.openAdding(taskId(9), 'a', NOW)).toMatchObject({ ok: false, reason: 'unknown' })
    },
  },
  {
    name: 'a late repeat of openAdding does not reopen a producer that has ended',
    async run(t) {
      const task = await taskWith(t, 1, 2)
      await t.store.tasks.openAdding(task.id, 'a', NOW)
      await t.store.tasks.endAdding(task.id, 'a', NOW)
      expect(await t.store.tasks.openAdding(task.id, 'a', NOW)).toMatchObject({ ok: false, reason: 'ended' })
      expect(await record(t, task)).toMatchObject({ state: 'running', adding: false })
    },
  },
  {
    name: 'a chunk repeated after the end of adding, or of the task, gets the same answer as before',
    async run(t) {
      const task = await taskWith(t, 1, 2)
      const again = () => t.store.tasks.addRows(task.id, PRODUCER, 0, rows(0, 2), NOW)
      expect(await again()).toEqual({ ok: true, total: 2 })
      await work(t, await t.owner())
      expect(await record(t, task)).toMatchObject({ state: 'done' })
      expect(await again()).toEqual({ ok: true, total: 2 })
      expect(await t.store.tasks.addRows(task.id, PRODUCER, 2, rows(2, 1), NOW)).toEqual({
        ok: false,
        reason: 'ended',
        cursor: 2,
      })
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', total: 2 })
    },
  },
  {
    name: 'a producer that replaces an interrupted one resumes at its cursor, and the task is adding again',
    async run(t) {
      const task = await taskWith(t, 1, 3, { open: true })
      await twice(t, task, () => t.store.tasks.endAdding(task.id, PRODUCER, NOW, true))
      expect(await record(t, task)).toMatchObject({ state: 'interrupted', broken: true, adding: false })
      expect(await twice(t, task, () => t.store.tasks.openAdding(task.id, 'next', NOW, PRODUCER))).toEqual({
        ok: true,
        total: 3,
      })
      expect(await record(t, task)).toMatchObject({ state: 'adding', adding: true, reason: null })
      const old = { ok: false, reason: 'taken-over', cursor: 3 }
      expect(await t.store.tasks.addRows(task.id, PRODUCER, 3, rows(3, 1), NOW)).toEqual(old)
      expect(await t.store.tasks.addRows(task.id, PRODUCER, 0, rows(0, 3), NOW)).toEqual(old)
      expect(await t.store.tasks.endAdding(task.id, PRODUCER, NOW)).toEqual(old)
      expect(await t.store.tasks.addRows(task.id, 'next', 0, rows(0, 3), NOW)).toEqual({ ok: true, total: 3 })
      expect(await t.store.tasks.addRows(task.id, 'next', 4, rows(4, 1), NOW)).toEqual({
        ok: false,
        reason: 'gap',
        cursor: 3,
      })
      expect(await t.store.tasks.addRows(task.id, 'next', 3, rows(3, 2), NOW)).toEqual({ ok: true, total: 5 })
      await t.store.tasks.endAdding(task.id, 'next', NOW)
      expect(await expectExact(t, task)).toMatchObject({ state: 'running', total: 5 })
    },
  },
  {
    name: 'a live producer can be replaced too, by only one of two that try',
    async run(t) {
      const task = await taskWith(t, 1, 2, { open: true })
      expect(await t.store.tasks.openAdding(task.id, 'a', NOW, PRODUCER)).toEqual({ ok: true, total: 2 })
      const late = { ok: false, reason: 'taken-over', cursor: 2 }
      expect(await t.store.tasks.openAdding(task.id, 'b', NOW, PRODUCER)).toEqual(late)
      expect(await t.store.tasks.addRows(task.id, PRODUCER, 2, rows(2, 1), NOW)).toEqual(late)
      expect(await t.store.tasks.addRows(task.id, 'b', 2, rows(2, 1), NOW)).toMatchObject({ reason: 'taken-over' })
      expect(await t.store.tasks.openAdding(task.id, 'b', NOW, 'nobody')).toMatchObject({
        ok: false,
        reason: 'taken-over',
      })
      expect(await record(t, task)).toMatchObject({ state: 'adding', adding: true })
      await t.store.tasks.endAdding(task.id, 'a', NOW)
      expect(await expectExact(t, task)).toMatchObject({ state: 'running', adding: false })
    },
  },
  {
    name: 'a task is adding while one producer continues; after that it is interrupted by the other',
    async run(t) {
      const task = await taskWith(t, 1, 1, { open: true })
      await t.store.tasks.openAdding(task.id, 'a', NOW)
      await t.store.tasks.endAdding(task.id, PRODUCER, NOW, true)
      expect(await record(t, task)).toMatchObject({ state: 'adding', adding: true })
      await t.store.tasks.endAdding(task.id, 'a', NOW)
      expect(await record(t, task)).toMatchObject({ state: 'interrupted', adding: false })
      // One more producer alone does not mend it.
      await t.store.tasks.openAdding(task.id, 'b', NOW)
      expect(await record(t, task)).toMatchObject({ state: 'adding' })
      await t.store.tasks.endAdding(task.id, 'b', NOW)
      expect(await record(t, task)).toMatchObject({ state: 'interrupted' })
    },
  },
  {
    name: 'an interrupted task stays interrupted when all its rows have ended, until its producer is replaced and ends',
    async run(t) {
      const onDone = { queue: 'calls', template: '{}' }
      const task = await taskWith(t, 1, 2, { open: true, onDone })
      await t.store.tasks.endAdding(task.id, PRODUCER, NOW, true)
      await work(t, await t.owner())
      expect(await record(t, task)).toMatchObject({ state: 'interrupted', finishedAt: null })
      expect(await t.waiting('calls')).toEqual([])
      await t.store.tasks.openAdding(task.id, 'next', NOW, PRODUCER)
      await t.store.tasks.endAdding(task.id, 'next', NOW + 1000)
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', finishedAt: NOW + 1000 })
      expect(await t.waiting('calls')).toHaveLength(1)
    },
  },
  {
    name: 'the reason of an interruption is removed when another producer resumes',
    async run(t) {
      const task = await taskWith(t, 1, 1, { open: true })
      await t.store.tasks.endAdding(task.id, PRODUCER, NOW, true)
      await t.store.tasks.change(task.id, { reason: REASON }, NOW)
      expect(await record(t, task)).toMatchObject({ state: 'interrupted', reason: REASON })
      await t.store.tasks.openAdding(task.id, 'next', NOW, PRODUCER)
      expect(await record(t, task)).toMatchObject({ state: 'adding', reason: null })
    },
  },
  {
    name: 'the death of a producer interrupts only its own tasks; the death of a replaced one interrupts none',
    async run(t) {
      const [first, second] = [await t.owner(), await t.owner()]
      const task = await taskWith(t, 1, 1, { open: true, producer: PRODUCER })
      await t.store.tasks.openAdding(task.id, first, NOW)
      await t.store.tasks.openAdding(task.id, second, NOW, PRODUCER)
      expect(await t.store.workers.claim(first)).toBe(true)
      expect(await record(t, task)).toMatchObject({ state: 'adding', adding: true })
      await t.store.tasks.endAdding(task.id, second, NOW)
      expect(await record(t, task)).toMatchObject({ state: 'interrupted', adding: false })
      const third = await t.owner()
      await t.store.tasks.openAdding(task.id, third, NOW, first)
      expect(await record(t, task)).toMatchObject({ state: 'adding' })
      await t.store.workers.claim(second)
      expect(await record(t, task)).toMatchObject({ state: 'adding' })
      await t.store.workers.claim(third)
      expect(await expectExact(t, task)).toMatchObject({ state: 'interrupted', adding: false })
    },
  },
  {
    name: 'producers whose rows may be missing are listed until they have ended or are replaced',
    async run(t) {
      const task = await taskWith(t, 1, 1, { open: true })
      const listed = () => t.store.tasks.producers(task.id)
      const of = (name: string, broken: boolean) => ({ name, broken })
      await t.store.tasks.openAdding(task.id, 'b', NOW)
      await t.store.tasks.openAdding(task.id, 'a', NOW)
      await t.store.tasks.addRows(task.id, 'row:0:1', 0, rows(1, 1), NOW)
      await t.store.tasks.startRun(task.id, 1, await t.owner(), NOW)
      expect(await listed()).toEqual([of('a', false), of('b', false), of(PRODUCER, false)])
      await t.store.tasks.endAdding(task.id, PRODUCER, NOW)
      await t.store.tasks.endAdding(task.id, 'b', NOW, true)
      await t.store.tasks.endAdding(task.id, 'a', NOW, true)
      expect(await listed()).toEqual([of('a', true), of('b', true)])
      // The one that took over broke off, too.
      await t.store.tasks.openAdding(task.id, 'next', NOW, 'a')
      expect(await listed()).toEqual([of('b', true), of('next', false)])
      await t.store.tasks.endAdding(task.id, 'next', NOW, true)
      expect(await listed()).toEqual([of('b', true), of('next', true)])
      for (const [name, instead] of [
        ['d', 'b'],
        ['e', 'next'],
      ] as const) {
        await t.store.tasks.openAdding(task.id, name, NOW, instead)
        await t.store.tasks.endAdding(task.id, name, NOW)
      }
      expect(await listed()).toEqual([])
      expect(await record(t, task)).toMatchObject({ producer: PRODUCER, broken: false })
      await t.store.tasks.openAdding(task.id, 'last', NOW)
      await t.store.tasks.cancel(task.id, null, NOW)
      expect(await listed()).toEqual([])
      expect(await t.store.tasks.producers(taskId(9))).toEqual([])
    },
  },
  {
    name: 'a claimed producer gets `taken-over` at its next chunk and at its end, until another one resumes',
    async run(t) {
      const producer = await t.owner()
      const task = spec(1, { producer })
      await t.store.tasks.create(task)
      await t.store.tasks.addRows(task.id, producer, 0, rows(0, 2), NOW)
      await t.store.workers.claim(producer)
      const lost = { ok: false, reason: 'taken-over', cursor: 2 }
      expect(await t.store.tasks.addRows(task.id, producer, 2, rows(2, 1), NOW)).toEqual(lost)
      expect(await t.store.tasks.endAdding(task.id, producer, NOW)).toEqual(lost)
      expect(await t.store.tasks.openAdding(task.id, producer, NOW)).toEqual(lost)
      // The rows that the producer stored before stay, and the producer may report that it stopped early.
      expect(await t.store.tasks.addRows(task.id, producer, 0, rows(0, 2), NOW)).toEqual({ ok: true, total: 2 })
      expect(await t.store.tasks.endAdding(task.id, producer, NOW, true)).toEqual({ ok: true, total: 2 })
      expect(await expectExact(t, task)).toMatchObject({ state: 'interrupted', total: 2 })
      await t.store.tasks.openAdding(task.id, 'next', NOW, producer)
      await t.store.tasks.endAdding(task.id, 'next', NOW)
      expect(await expectExact(t, task)).toMatchObject({ state: 'running', total: 2 })
    },
  },
  {
    name: 'the death of the producer of a paused task shows after a resume',
    async run(t) {
      const producer = await t.owner()
      const task = spec(1, { producer })
      await t.store.tasks.create(task)
      await t.store.tasks.addRows(task.id, producer, 0, rows(0, 1), NOW)
      await t.store.tasks.change(task.id, { paused: true }, NOW)
      await t.store.workers.claim(producer)
      expect(await record(t, task)).toMatchObject({ state: 'paused', adding: false })
      await t.store.tasks.change(task.id, { paused: false }, NOW)
      expect(await record(t, task)).toMatchObject({ state: 'interrupted' })
    },
  },
  {
    name: 'a row adds rows while it runs; its next attempt adds none of them again',
    async run(t) {
      const task = await taskWith(t, 1, 1, { window: 4 })
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      await t.settleAndFetch(owner, { started: [begin(first)] })
      const add = (from: number, chunk: NewRow[]) => t.store.tasks.addRows(task.id, 'row:0:1', from, chunk, NOW)
      expect(await twice(t, task, () => add(0, rows(1, 2)))).toEqual({ ok: true, total: 3 })
      expect(await twice(t, task, () => add(2, rows(3, 1)))).toEqual({ ok: true, total: 4 })
      expect(await record(t, task)).toMatchObject({ state: 'running', adding: false })
      const back = [change(first, { status: 'enqueued', window: 'keep' })]
      await t.settleAndFetch(owner, { settlements: [release(first, { effects: back })] })
      expect(await add(0, rows(1, 2))).toEqual({ ok: true, total: 4 })
      expect(await add(4, rows(4, 1))).toEqual({ ok: false, reason: 'gap', cursor: 3 })
      expect(await add(3, rows(4, 1))).toEqual({ ok: true, total: 5 })
      expect(await argsIn(t)).toEqual([[0], [1], [2], [3]])
      expect(await expectExact(t, task)).toMatchObject({ inWindow: 4, backlog: 1, counts: counts({ enqueued: 5 }) })
    },
  },
  {
    name: 'an ended row may add rows until the task is done; an unknown row may not',
    async run(t) {
      const task = await taskWith(t, 1, 2)
      const owner = await t.owner()
      await work(t, owner, { n: 1 })
      expect(await t.store.tasks.addRows(task.id, 'row:0:1', 0, rows(2, 1), NOW)).toEqual({ ok: true, total: 3 })
      expect(await t.store.tasks.addRows(task.id, 'row:3:1', 0, rows(3, 1), NOW)).toMatchObject({
        ok: false,
        reason: 'unknown',
      })
      await work(t, owner)
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', total: 3 })
      expect(await t.store.tasks.addRows(task.id, 'row:0:1', 0, rows(2, 1), NOW)).toEqual({ ok: true, total: 3 })
      const refused = { ok: false, reason: 'ended', cursor: 1 }
      expect(await t.store.tasks.addRows(task.id, 'row:0:1', 1, rows(3, 1), NOW)).toEqual(refused)
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', total: 3 })
    },
  },
  {
    name: 'rows added in the last attempt of a row keep the task running until they have ended',
    async run(t) {
      const task = await taskWith(t, 1, 1)
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      await t.store.tasks.addRows(task.id, 'row:0:1', 0, rows(1, 1), NOW)
      await t.settleAndFetch(owner, { settlements: [finish(first)] })
      expect(await record(t, task)).toMatchObject({ state: 'running' })
      await work(t, owner)
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', counts: counts({ finished: 2 }) })
    },
  },
  {
    name: 'a row of another class has its class and its own payload',
    async run(t) {
      const task = spec(1)
      await t.store.tasks.create(task)
      const other = '{"class":"Other","queue":"q","args":[7.0]}'
      await t.store.tasks.addRows(task.id, PRODUCER, 0, [{ args: '[0]' }, { args: other, job: 'Other' }], NOW)
      expect(await eventOf(t, task, 0)).toMatchObject({ job: null, args: '[0]' })
      expect(await eventOf(t, task, 1)).toMatchObject({ job: 'Other', args: other })
      const [, text = ''] = await t.waiting('q')
      expect(payloadOf({ text })).toMatchObject({ class: 'Other', args: [7] })
    },
  },
]
