import { expect, test } from 'vitest'
import { NOW } from '../../conformance/bench.ts'
import { begin, counts, eventOf, expectExact, finish, PRODUCER, rows, spec } from '../../conformance/tracked.ts'
import type { RedisServer } from '../server.ts'
import type { Act } from '../step.ts'
import { census, type Hand, openHand } from './hand.ts'
import { openStage, type Stage, script } from './stage.ts'

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

/** A worker, and a task of three rows of which two may be in the queue. */
async function tracked(stage: Stage): Promise<{ hand: Hand; task: { id: string } }> {
  const task = spec(1, { window: 2 })
  expect(await stage.direct.tasks.create(task)).toBe(true)
  await stage.direct.tasks.addRows(task.id, PRODUCER, 0, rows(0, 3), NOW)
  await stage.direct.tasks.endAdding(task.id, PRODUCER, NOW)
  return { hand: await openHand(stage), task }
}

/** The beginning and the end of an attempt at a tracked row. */
export function starts(server: () => RedisServer): void {
  for (const { act, late } of FAULTS) {
    const what = `${act}${late ? `, it goes on ${late}` : ''}`
    test.concurrent(`the start of a tracked row, ${what}: told once`, async (t) => {
      const stage = await openStage(server(), t, { impatient: late !== undefined })
      const { hand, task } = await tracked(stage)
      const look = { store: stage.direct }
      const [row] = (await hand.turn({ n: 1 })).fetched
      if (!row) throw new Error('no row came')

      const step = stage.fault(script('settleAndFetch'), act)
      await hand.lose({ started: [begin(row, { messages: [SAID] })] })
      await step.happened
      if (late === 'before it is repeated') stage.release(step)
      await hand.insist()
      if (late === 'after it was repeated') stage.release(step)
      const begun = { status: 'working', attempts: 1, startedAt: NOW, finishedAt: null, messages: [SAID] }
      expect(await eventOf(look, task, 0)).toMatchObject(begun)
      expect((await expectExact(look, task)).counts).toEqual(counts({ enqueued: 2, working: 1 }))

      await hand.turn({ settle: [finish(row)] })
      if (late === 'at the end') stage.release(step)
      await hand.workOff((taken) => finish(taken))
      expect(await eventOf(look, task, 0)).toMatchObject({ status: 'finished', attempts: 1, messages: [SAID] })
      expect(await expectExact(look, task)).toMatchObject({
        counts: counts({ finished: 3 }),
        state: 'done',
        inWindow: 0,
      })
      await census(stage, hand, { handed: hand.handed, processed: 3 })
    })

    test.concurrent(`the end of a tracked row, ${what}: told once, and the next row comes in once`, async (t) => {
      const stage = await openStage(server(), t, { impatient: late !== undefined })
      const { hand, task } = await tracked(stage)
      const look = { store: stage.direct }
      const [row] = (await hand.turn({ n: 1 })).fetched
      if (!row) throw new Error('no row came')
      await hand.turn({ started: [begin(row)] })

      const step = stage.fault(script('settleAndFetch'), act)
      await hand.lose({ settle: [finish(row, { messages: [SAID], result: '{"n":1}' })] })
      await step.happened
      if (late === 'before it is repeated') stage.release(step)
      await hand.insist()
      if (late === 'after it was repeated') stage.release(step)
      const ended = { status: 'finished', attempts: 1, messages: [SAID], result: '{"n":1}' }
      expect(await eventOf(look, task, 0)).toMatchObject(ended)
      expect(await expectExact(look, task)).toMatchObject({ counts: counts({ enqueued: 2, finished: 1 }), inWindow: 2 })

      await hand.workOff((taken) => finish(taken))
      if (late === 'at the end') stage.release(step)
      expect(await eventOf(look, task, 0)).toMatchObject(ended)
      expect(await expectExact(look, task)).toMatchObject({
        counts: counts({ finished: 3 }),
        state: 'done',
        inWindow: 0,
      })
      expect(hand.handed).toHaveLength(3)
      await census(stage, hand, { handed: hand.handed, processed: 3 })
    })
  }
}
