import { expect } from 'vitest'
import type { Branch, EventEffect, FetchedJob, Settlement, TaskSpec } from '#dist/store/contract.js'
import { type Bench, type Case, done, textsOf } from '../bench.ts'
import { branchesOf, effectsOf } from './groups.ts'
import { allEvents, counts, expectExact, postpone, taskWith } from './tracked.ts'

/** What no store can sort by: a branch that has it can't be applied, however sound the others are. */
const NOWHERE = Number.NaN

/** A job of several rows falls apart, and one of its parts can't go where it should. */
export const taskApart: Case[] = [
  {
    name: "a settlement that splits a job and can't store one row changes nothing, and succeeds later",
    async run(t) {
      for (const [i, broken] of [0, 1, 2, 3].entries()) {
        const task = await taskWith(t, i + 1, 9, { rowsPerJob: 5, window: 3, queue: `q${i}` })
        const owner = await t.owner({ queues: [task.queue] })
        const [taken] = await t.fetch(owner, task.queue, 1)
        const before = await all(t, task)
        for (let n = 0; n < 2; n++) {
          expect(await settle(t, owner, apart(taken, broken))).toEqual(['error'])
          expect(await all(t, task)).toEqual(before)
        }
        const whole = apart(taken)
        expect(await settle(t, owner, whole)).toEqual(['ok'])
        const after = await all(t, task)
        expect(after.task).toMatchObject({
          inWindow: 3,
          backlog: 0,
          counts: counts({ finished: 1, enqueued: 7, error: 1 }),
        })
        const [two, three, four, five] = textsOf((whole.also as Branch[]).map(({ to }) => to))
        expect(after.queue.toSorted()).toEqual([...before.queue, two, five].toSorted())
        expect({ retry: after.retry, dead: after.dead }).toEqual({ retry: [three], dead: [four] })
        // The answer was lost.
        expect(await settle(t, owner, whole)).toEqual(['fenced'])
        expect(await all(t, task)).toEqual(after)
        await sweep(t, task)
      }
    },
  },
  {
    name: 'a job that could not be split stays with its owner unchanged, and is rescued when the owner dies',
    async run(t) {
      const task = await taskWith(t, 1, 5, { rowsPerJob: 5 })
      const owner = await t.owner()
      const [taken] = await t.fetch(owner, 'q', 1)
      expect(await settle(t, owner, apart(taken, 3))).toEqual(['error'])
      expect(await t.store.workers.claim(owner)).toBe(true)
      expect(textsOf(await t.store.workers.orphaned(10))).toEqual([taken.text])
      expect(await all(t, task)).toMatchObject({ queue: [], retry: [], dead: [] })
    },
  },
  {
    name: "a row that can't be stored stays where it was after repeated settlements, and no text exists twice",
    async run(t) {
      const task = await taskWith(t, 1, 2, { window: 1 })
      const owner = await t.owner()
      const [taken] = await t.fetch(owner, 'q', 1)
      const before = await all(t, task)
      for (let n = 0; n < 2; n++) {
        expect(await settle(t, owner, postpone(taken, NOWHERE))).toEqual(['error'])
        expect(await all(t, task)).toEqual(before)
      }
      expect(await settle(t, owner, postpone(taken, 5))).toEqual(['ok'])
      expect(await all(t, task)).toMatchObject({ retry: [taken.text], task: { inWindow: 1, backlog: 0 } })
    },
  },
]

/** Of five rows the first is done; the others go to the queue, to both sets, and to the queue. */
export function apart(taken: FetchedJob, broken?: number): Settlement {
  const [first, , , dead] = effectsOf(taken) as [EventEffect, ...EventEffect[]]
  const [, two, three, four, five] = branchesOf(taken) as Branch[]
  const away = { status: 'enqueued', window: 'leave' } as const
  const also = [
    two,
    { to: { to: 'retry', text: three?.to.text, score: 7 }, effects: [{ ...effectsOf(taken, away)[2] }] },
    { to: { to: 'dead', text: four?.to.text, score: 8 }, effects: [{ ...dead, status: 'error' }] },
    five,
  ] as Branch[]
  const whole = done(taken, { failed: 1, effects: [first], also })
  if (broken === undefined) return whole
  const lost = { ...(also[broken] as Branch) }
  return { ...whole, also: also.with(broken, { ...lost, to: { to: 'retry', text: lost.to.text, score: NOWHERE } }) }
}

/** A store may refuse the whole turn. */
async function settle(t: Bench, owner: string, settlement: Settlement) {
  return t.settleAndFetch(owner, { settlements: [settlement] }).then(
    ({ settled }) => settled,
    () => ['error'],
  )
}

/** All that there is of a task, and where its texts are. */
async function all(t: Bench, task: TaskSpec) {
  const { processed, failed } = await t.store.metrics.totals()
  return {
    task: await expectExact(t, task),
    events: await allEvents(t, task),
    queue: await t.waiting(task.queue),
    retry: textsOf(await t.store.jobSets.page('retry', { limit: 10 })),
    dead: textsOf(await t.store.jobSets.page('dead', { limit: 10 })),
    processed,
    failed,
  }
}

/** Leaves the sets empty for the next. */
async function sweep(t: Bench, task: TaskSpec): Promise<void> {
  await t.store.search.clearSet('retry', [])
  await t.store.search.clearSet('dead', [])
  await t.store.tasks.delete(task.id, 1000)
}
