import { type HighkiqError, PushError } from 'highkiq'
import { expect, test } from 'vitest'
import type { EventEffect, PushItem } from '#dist/store/contract.js'
import { job, NOW, toQueue } from '../../conformance/bench.ts'
import { counts, eventOf, expectExact, jidOf, PRODUCER, rows, spec } from '../../conformance/tasks/tracked.ts'
import type { RedisServer } from '../server.ts'
import type { Act, Match } from '../step.ts'
import { command, openStage, type Stage, script } from './stage.ts'
import { until } from './test-owner.ts'

const FAULTS: { act: Act; stored: boolean }[] = [
  { act: 'cut-before', stored: false },
  { act: 'cut-after-request', stored: true },
  { act: 'cut-before-reply', stored: true },
  { act: 'hold', stored: true },
  { act: 'hold-reply', stored: true },
]

const TASK = spec(1)
const SAID = { at: NOW, code: 'said', params: {} }
/** An effect that cancels a row while another job is pushed. */
const EFFECT: EventEffect = {
  kind: 'event',
  jid: jidOf(TASK.id, 0),
  run: 1,
  attempt: 1,
  status: 'cancelled',
  at: NOW,
  window: 'leave',
  messages: [SAID],
}

const KINDS: { name: string; match: Match; items: PushItem[] }[] = [
  { name: 'ready jobs', match: command('LPUSH'), items: [toQueue('p', job(0)), toQueue('p', job(0))] },
  {
    name: 'a scheduled job',
    match: command('ZADD'),
    items: [{ to: 'schedule', text: job(1), score: 2e9 }],
  },
  {
    name: 'scheduled jobs',
    match: script('pushToSet'),
    items: [
      { to: 'schedule', text: job(1), score: 2e9 },
      { to: 'schedule', text: job(2), score: 2e9 },
    ],
  },
  {
    name: 'a job with effects',
    match: script('pushWithEffects'),
    items: [{ ...toQueue('p', job(0)), effects: [EFFECT] }],
  },
]

/** Expects that the pushed jobs are stored wholly or not at all. */
async function stored(stage: Stage, items: PushItem[]): Promise<boolean> {
  const { schedule } = await stage.truth()
  const there = [...(await stage.direct.jobs.peek('p', 0, 10)), ...schedule]
  if (there.length > 0) expect(there).toEqual(items.map(({ text }) => text))
  return there.length > 0
}

async function refused(work: Promise<unknown>): Promise<PushError> {
  const thrown = await work.then(
    () => undefined,
    (error: HighkiqError) => error,
  )
  expect(thrown).toBeInstanceOf(PushError)
  return thrown as PushError
}

export function pushes(server: () => RedisServer): void {
  for (const { name, match, items } of KINDS) {
    for (const { act, stored: arrives } of FAULTS) {
      test.concurrent(`a push of ${name}, ${act}: it is maybePushed, and stored at most once`, async (t) => {
        const stage = await openStage(server(), t, { impatient: act.startsWith('hold') })
        await withTask(stage)
        await stage.store.open()
        const step = stage.fault(match, act)
        const { maybePushed } = await refused(stage.store.jobs.push(items, NOW))
        await step.happened
        expect(maybePushed).toBe(true)
        if (act === 'hold') expect(await stored(stage, items)).toBe(false)
        stage.release(step)
        if (arrives) await until(() => stored(stage, items))
        else expect(await stored(stage, items)).toBe(false)
        const tracked = items.some(({ effects }) => effects)
        const told = tracked && arrives
        expect(await eventOf({ store: stage.direct }, TASK, 0)).toMatchObject({
          status: told ? 'cancelled' : 'enqueued',
          messages: told ? [SAID] : [],
        })
        expect((await expectExact({ store: stage.direct }, TASK)).counts).toEqual(
          counts(told ? { cancelled: 1 } : { enqueued: 1 }),
        )
      })
    }

    test.concurrent(`a push of ${name} that was never written is not maybePushed, and the next one succeeds`, async (t) => {
      const stage = await openStage(server(), t, { impatient: true })
      await withTask(stage)
      await stage.store.open()
      stage.proxy.refuse()
      // The store knows that it has no connection.
      await expect(stage.store.jobSets.size('dead')).rejects.toThrow()
      expect((await refused(stage.store.jobs.push(items, NOW))).maybePushed).toBe(false)
      expect(await stored(stage, items)).toBe(false)
      stage.proxy.accept()
      await until(async () => {
        const pushed = await stage.store.jobs.push(items, NOW).then(
          () => true,
          (error: PushError) => !error.maybePushed && 'not yet',
        )
        expect(pushed).not.toBe(false)
        return pushed === true
      })
      expect(await stored(stage, items)).toBe(true)
    })
  }

  test.concurrent('a push to two queues that is cut between them may be stored', async (t) => {
    const stage = await openStage(server(), t)
    await stage.store.open()
    const step = stage.fault((name, [key]) => name === 'LPUSH' && String(key) === 'queue:b', 'cut-before')
    const items = [toQueue('a', job(1)), toQueue('b', job(2))]
    expect((await refused(stage.store.jobs.push(items, NOW))).maybePushed).toBe(true)
    await step.happened
    expect(await stage.direct.jobs.peek('b', 0, 10)).toEqual([])
    expect((await stage.truth()).waiting.length).toBeLessThan(2)
  })

  test.concurrent('pushes at the same time: those of a lost answer reject, all others are stored once', async (t) => {
    const stage = await openStage(server(), t)
    await stage.store.open()
    stage.fault((name, [, text]) => name === 'LPUSH' && String(text) === job(5), 'cut-before-reply')
    const texts = Array.from({ length: 10 }, (_, n) => job(n))
    const answers = await Promise.allSettled(texts.map((text) => stage.store.jobs.push([toQueue('p', text)], NOW)))
    const waiting = await stage.direct.jobs.peek('p', 0, 20)
    for (const [n, answer] of answers.entries()) {
      const times = waiting.filter((one) => one === texts[n]).length
      if (answer.status === 'fulfilled') expect(times).toBe(1)
      else if ((answer.reason as PushError).maybePushed) expect(times).toBeLessThan(2)
      else expect(times).toBe(0)
    }
    expect(answers.some(({ status }) => status === 'rejected')).toBe(true)
  })
}

/** A task with one row, which waits in a queue of its own. */
async function withTask(stage: Stage): Promise<void> {
  await stage.direct.tasks.create(TASK)
  await stage.direct.tasks.addRows(TASK.id, PRODUCER, 0, rows(0, 1), NOW)
}
