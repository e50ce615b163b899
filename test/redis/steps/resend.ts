import { Highkiq } from 'highkiq'
import { expect, type TestContext, test } from 'vitest'
import { recorder } from '../../engine/bench.ts'
import type { RedisServer } from '../server.ts'
import type { Act } from '../step.ts'
import { openStage, type Stage, script } from './stage.ts'
import { until } from './test-owner.ts'

const ACTS: Act[] = ['cut-before', 'cut-after-request', 'cut-before-reply', 'hold', 'hold-reply']

async function appOn(server: RedisServer, t: TestContext): Promise<{ stage: Stage; hq: Highkiq }> {
  const stage = await openStage(server, t, { impatient: true })
  const hq = new Highkiq({ store: stage.store, logger: recorder() })
  await stage.store.open()
  return { stage, hq }
}

/** An idempotent push is repeated, and stored once. */
export function resend(server: () => RedisServer): void {
  for (const act of ACTS) {
    test.concurrent(`an idempotent push, ${act}: the store repeats it and stores it once`, async (t) => {
      const { stage, hq } = await appOn(server(), t)
      for (const [class_, at] of [
        ['Now', undefined],
        ['Later', 2e9],
      ] as const) {
        const step = stage.fault(script('pushOnce'), act)
        const push = hq.push({ class: class_, args: [], queue: 'p', idempotent: true, ...(at ? { at } : {}) })
        await step.happened
        const jid = await push
        const { waiting, schedule } = await stage.truth()
        expect([...waiting, ...schedule].some((text) => text.includes(`"jid":"${jid}"`))).toBe(true)
        // The held request arrives now, after the repeated one.
        stage.release(step)
      }
      for (let i = 0; i < 5; i++) await stage.direct.metrics.totals()
      const { waiting, schedule } = await stage.truth()
      expect(waiting).toHaveLength(1)
      expect(schedule).toHaveLength(1)
      expect(waiting[0]).not.toContain('idempotent')
    })
  }

  test.concurrent('a repeated idempotent push does not run a job twice that has run already', async (t) => {
    const { stage, hq } = await appOn(server(), t)
    const other = new Highkiq({ store: stage.direct, logger: recorder() })
    const ran: string[] = []
    other.job('J', (ctx) => void ran.push(ctx.jid))
    const worker = other.worker({ queues: ['p'] })
    await worker.start()
    const step = stage.fault(script('pushOnce'), 'hold-reply')
    const push = hq.push({ class: 'J', args: [], queue: 'p', idempotent: true })
    await step.happened
    await until(async () => (await stage.direct.metrics.totals()).processed === 1)
    expect(ran).toEqual([await push])
    await stage.direct.metrics.totals()
    expect((await stage.truth()).waiting).toEqual([])
    await worker.stop()
    expect(ran).toHaveLength(1)
  })

  test.concurrent('a repeated idempotent bulk stores each job once', async (t) => {
    const { stage, hq } = await appOn(server(), t)
    // The second script of the bulk: the first hundred jobs are stored by then.
    stage.fault(script('pushOnce'), 'pass')
    stage.fault(script('pushOnce'), 'cut-before-reply')
    const args = Array.from({ length: 250 }, (_, n) => [n])
    const jids = await hq.pushBulk({ class: 'J', args, queue: 'p', idempotent: true })
    const waiting = await stage.direct.jobs.peek('p', 0, 1000)
    expect(waiting.map((text) => JSON.parse(text).jid)).toEqual(jids)
  })

  test.concurrent('a push that is not idempotent is not repeated', async (t) => {
    const { stage, hq } = await appOn(server(), t)
    stage.fault((name) => name === 'LPUSH', 'cut-before-reply')
    await expect(hq.push({ class: 'J', args: [], queue: 'p' })).rejects.toMatchObject({
      code: 'PUSH_FAILED',
      maybePushed: true,
      jids: [expect.stringMatching(/^[0-9a-f]{24}$/)],
    })
    expect((await stage.truth()).waiting).toHaveLength(1)
  })

  test.concurrent('the key that remembers an idempotent push expires', async (t) => {
    const { stage, hq } = await appOn(server(), t)
    await hq.push({ class: 'J', args: [], queue: 'p', idempotent: true })
    const [[key = ''] = []] = await stage.ask(['KEYS', 'hk:once:*'])
    const [[ttl] = []] = await stage.ask(['TTL', key])
    expect(Number(ttl)).toBeGreaterThan(200)
    expect(Number(ttl)).toBeLessThanOrEqual(300)
  })
}
