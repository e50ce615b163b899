import { BusinessFailure, Highkiq } from 'highkiq'
import { expect, test } from 'vitest'
import { recorder } from '../../engine/bench.ts'
import type { RedisServer } from '../server.ts'
import type { Act, Match } from '../step.ts'
import { command, openStage, STEP, type Stage, script } from './stage.ts'
import { until } from './test-owner.ts'

const ACTS: Act[] = ['cut-before', 'cut-after-request', 'cut-before-reply']
const REQUESTS: { name: string; match: Match }[] = [
  { name: 'BLMOVE', match: command('BLMOVE') },
  { name: 'settleAndFetch', match: STEP },
  { name: 'the settleAndFetch after it', match: STEP },
]

/** The app of a worker behind the proxy; it records the jobs that run. */
function appOn(stage: Stage, t: Parameters<typeof openStage>[1]) {
  const hq = new Highkiq({ url: stage.store.url, logger: recorder(), random: () => 0 })
  t.onTestFinished(() => hq.close())
  const ran: string[] = []
  const refused: string[] = []
  hq.onError((error) => {
    if ((error as { code?: string }).code === 'LEASE_LOST') refused.push((error as Error).message)
  })
  return { hq, ran, refused }
}

/** Whole workers, with all their background services. */
export function worker(server: () => RedisServer): void {
  for (const concurrency of [1, 4]) {
    test.concurrent(`a worker of ${concurrency} slots runs each job once, whichever answer is lost`, async (t) => {
      const stage = await openStage(server(), t)
      const { hq, ran, refused } = appOn(stage, t)
      hq.job('Note', async (_ctx, n: number) => {
        ran.push(String(n))
        await new Promise((resolve) => setTimeout(resolve, 10 * (n % 3)))
      })
      const working = hq.worker({ concurrency, queues: ['q'], pollInterval: 0.5 })
      await working.start()
      const pushed: string[] = []
      for (const { name, match } of REQUESTS) {
        for (const act of ACTS) {
          await until(async () => (await stage.blocked()) > 0)
          if (name === 'the settleAndFetch after it') stage.fault(match, 'pass')
          const step = stage.fault(match, act)
          // The current wait began before the fault was set.
          const texts = [0, 0, 0, pushed.length + 1, pushed.length + 2].map((n) =>
            JSON.stringify({ class: 'Note', args: [n], jid: `${n}`.padStart(24, '0'), queue: 'q', retry: true }),
          )
          await stage.push(...texts)
          pushed.push(...texts)
          await step.happened
          await until(async () => (await stage.truth()).processed >= pushed.length)
        }
      }
      await working.stop()
      expect(ran.sort()).toEqual(pushed.map((text) => String(JSON.parse(text).args[0])).sort())
      expect(refused).toEqual([])
      expect(await stage.truth()).toMatchObject({
        waiting: [],
        held: [],
        processed: pushed.length,
        failed: 0,
        owned: [],
      })
      expect((await stage.direct.workers.leases()).filter(({ claimed }) => !claimed)).toEqual([])
    })
  }

  test.concurrent('a task is created and run to its end with exact counts, whichever answer is lost', async (t) => {
    const stage = await openStage(server(), t)
    const { hq, ran, refused } = appOn(stage, t)
    const Row = hq.job('Row', { queue: 'q' }, async (ctx, n: number) => {
      ran.push(String(n))
      ctx.log.info({}, 'ran')
      if (n % 10 === 0) throw new BusinessFailure('no', { code: 'no' })
    })
    const working = hq.worker({ concurrency: 3, queues: ['q'], pollInterval: 0.5 })
    await working.start()
    for (const name of ['join', 'taskCreate', 'taskAddRows', 'taskEndAdding'] as const) {
      for (const act of ACTS) stage.fault(script(name), act)
    }
    // Every fifth step loses its answer in one way or another.
    for (let n = 0; n < 12; n++) {
      for (let passed = 0; passed < 4; passed++) stage.fault(STEP, 'pass')
      stage.fault(STEP, ACTS[n % 3] as Act)
    }
    const rows = Array.from({ length: 200 }, (_, n): [number] => [n])
    const task = await hq.tasks.create(Row, rows, { window: 10 })
    await task.wait()
    await working.stop()
    expect(await task.status()).toMatchObject({ state: 'done', total: 200, counts: { finished: 180, failed: 20 } })
    expect(ran.sort()).toEqual(rows.map(String).sort())
    expect(refused).toEqual([])
    expect(await stage.truth()).toMatchObject({ waiting: [], held: [], processed: 200, failed: 0, owned: [] })
    const events = await stage.direct.tasks.events(task.id, { limit: 1000 })
    expect(events.every(({ attempts, messages }) => attempts === 1 && messages.length < 2)).toBe(true)
  })
}
