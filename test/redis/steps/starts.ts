import { expect, test } from 'vitest'
import { NOW } from '../../conformance/bench.ts'
import { begin, counts, eventOf, expectExact, finish, PRODUCER, rows, spec } from '../../conformance/tasks/tracked.ts'
import type { RedisServer } from '../server.ts'
import type { Act } from '../step.ts'
import { openStage, STEP, type Stage } from './stage.ts'
import { census, openOwner, type TestOwner } from './test-owner.ts'

const FAULTS: { act: Act; late?: 'before it is repeated' | 'after it was repeated' | 'at the end' }[] = [
  { act: 'cut-before' },
  { act: 'cut-after-request' },
  { act: 'cut-before-reply' },
  { act: 'hold', late: 'before it is repeated' },
  { act: 'hold', late: 'after it was repeated' },
  { act: 'hold', late: 'at the end' },
  { act: 'hold-reply', late: 'after it was repeated' },
]
const SAID = { at: NOW, code: 'said', params: {} }

/** Makes an owner, and a task of three rows with a window of two. */
async function tracked(stage: Stage): Promise<{ owner: TestOwner; task: { id: string } }> {
  const task = spec(1, { window: 2 })
  expect(await stage.direct.tasks.create(task)).toBe(true)
  await stage.direct.tasks.addRows(task.id, PRODUCER, 0, rows(0, 3), NOW)
  await stage.direct.tasks.endAdding(task.id, PRODUCER, NOW)
  return { owner: await openOwner(stage), task }
}

/** The start and the settlement of an attempt at a tracked row. */
export function starts(server: () => RedisServer): void {
  for (const { act, late } of FAULTS) {
    const what = `${act}${late ? `, it goes on ${late}` : ''}`
    test.concurrent(`the start of a tracked row, ${what}: it counts once`, async (t) => {
      const stage = await openStage(server(), t, { impatient: late !== undefined })
      const { owner, task } = await tracked(stage)
      const look = { store: stage.direct }
      const [row] = (await owner.settleAndFetch({ n: 1 })).fetched
      if (!row) throw new Error('no row came')

      const step = stage.fault(STEP, act)
      await owner.loseAnswer({ started: [begin(row, { messages: [SAID] })] })
      await step.happened
      if (late === 'before it is repeated') stage.release(step)
      await owner.insist()
      if (late === 'after it was repeated') stage.release(step)
      const begun = { status: 'working', attempts: 1, startedAt: NOW, finishedAt: null, messages: [SAID] }
      expect(await eventOf(look, task, 0)).toMatchObject(begun)
      expect((await expectExact(look, task)).counts).toEqual(counts({ enqueued: 2, working: 1 }))

      await owner.settleAndFetch({ settle: [finish(row)] })
      if (late === 'at the end') stage.release(step)
      await owner.workOff((taken) => finish(taken))
      expect(await eventOf(look, task, 0)).toMatchObject({ status: 'finished', attempts: 1, messages: [SAID] })
      expect(await expectExact(look, task)).toMatchObject({
        counts: counts({ finished: 3 }),
        state: 'done',
        inWindow: 0,
      })
      await census(stage, owner, { handed: owner.handed, processed: 3 })
    })

    test.concurrent(`the end of a tracked row, ${what}: it counts once, and the next row enters the window once`, async (t) => {
      const stage = await openStage(server(), t, { impatient: late !== undefined })
      const { owner, task } = await tracked(stage)
      const look = { store: stage.direct }
      const [row] = (await owner.settleAndFetch({ n: 1 })).fetched
      if (!row) throw new Error('no row came')
      await owner.settleAndFetch({ started: [begin(row)] })

      const step = stage.fault(STEP, act)
      await owner.loseAnswer({ settle: [finish(row, { messages: [SAID], result: '{"n":1}' })] })
      await step.happened
      if (late === 'before it is repeated') stage.release(step)
      await owner.insist()
      if (late === 'after it was repeated') stage.release(step)
      const ended = { status: 'finished', attempts: 1, messages: [SAID], result: '{"n":1}' }
      expect(await eventOf(look, task, 0)).toMatchObject(ended)
      expect(await expectExact(look, task)).toMatchObject({ counts: counts({ enqueued: 2, finished: 1 }), inWindow: 2 })

      await owner.workOff((taken) => finish(taken))
      if (late === 'at the end') stage.release(step)
      expect(await eventOf(look, task, 0)).toMatchObject(ended)
      expect(await expectExact(look, task)).toMatchObject({
        counts: counts({ finished: 3 }),
        state: 'done',
        inWindow: 0,
      })
      expect(owner.handed).toHaveLength(3)
      await census(stage, owner, { handed: owner.handed, processed: 3 })
    })
  }
}
