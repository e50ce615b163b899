import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { BatchMaintenance } from '#dist/batches/batch-maintenance.js'
import { batchMembers } from '#dist/batches/batch-plugin.js'
import type { Canceller } from '#dist/batches/cancel.js'
import { bench } from '../engine/bench.ts'
import { type RedisServer, startServer } from './server.ts'
import { onRedis } from './suite.ts'

onRedis('batches, beside other programs', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.remove())

  test('a batch whose record was deleted does not hide the idle batches behind it', async () => {
    const { hq, clock } = bench({ url: server.url() })
    const Work = hq.job('Work', () => {})
    const bids = [await hq.batch({}, () => Work.performAsync()), await hq.batch({}, () => Work.performAsync())]
    const before = clock.now() + 10_000
    const { items, next } = await hq.store.batches.idle(before, { limit: 1 })
    expect(items).toHaveLength(1)
    const redis = new Redis(server.url())
    await redis.del(`hk:batch:${items[0]?.bid}`)
    redis.disconnect()
    expect(await hq.store.batches.idle(before, { limit: 1 })).toEqual({ items: [], next })
    const [rest] = (await hq.store.batches.idle(before, { after: next ?? undefined, limit: 1 })).items
    expect(bids).toContain(rest?.bid)
  })

  test('a batch whose record was deleted does not end the list of batches', async () => {
    const { hq } = bench({ url: server.url(2) })
    const Work = hq.job('Work', () => {})
    const bids: string[] = []
    for (let n = 0; n < 3; n++) bids.push(await hq.batch({}, () => Work.performAsync()))
    const all = async (state?: 'running') => {
      const found: string[] = []
      let cursor: string | undefined
      do {
        const { items, next } = await hq.batches.page({ state, cursor, limit: 1 })
        found.push(...items.map(({ bid }) => bid))
        cursor = next ?? undefined
      } while (cursor !== undefined)
      return found
    }
    const listed = await all()
    expect(listed.toSorted()).toEqual(bids.toSorted())
    const redis = new Redis(server.url(2))
    await redis.del(`hk:batch:${listed[1]}`)
    redis.disconnect()
    const rest = [listed[0], listed[2]]
    expect([await all(), await all('running')]).toEqual([rest, rest])
  })

  test("a batch whose callback can't be pushed keeps no other one from ending, or from being cancelled", async () => {
    const { hq, clock } = bench({ url: server.url(1) })
    const redis = new Redis(server.url(1))
    onTestFinished(() => redis.disconnect())
    const Work = hq.job('Work', () => {})
    const Later = hq.job('Later', { queue: 'broken' }, (_ctx, _bid: string) => {})
    const create = async (n: number) => [
      await hq.batch({ onComplete: Later }, () => Work.performBulk(Array.from({ length: n }, () => []))),
      await hq.batch({}, () => Work.performBulk(Array.from({ length: n }, () => []))),
    ]
    const [, lost = ''] = await create(1)
    await redis.del('queue:default')
    const [broken = '', cancelled = ''] = await create(2)
    // Their processes have died before they have requested the cancellation of a job.
    for (const bid of [broken, cancelled]) await hq.store.batches.cancel(bid, clock.now())
    await redis.set('queue:broken', 'no list')
    const errors: string[] = []
    const app = { store: hq.store, now: clock.now, keepEnd: async () => {} }
    const report = (thrown: unknown) => void errors.push((thrown as Error).message)
    const effects: Canceller['effects'] = (payload, outcome) => batchMembers.effects?.(payload, outcome, clock.now)
    const options = { everySeconds: 1, lostAfterMs: 0, walkingPart: 1e9 }
    const maintenance = new BatchMaintenance({ ...app, report, effects }, options)
    onTestFinished(() => maintenance.stop())
    for (clock.ahead = 10; clock.ahead <= 40; clock.ahead += 10) await maintenance.run()
    expect(await hq.batches.get(cancelled)).toMatchObject({ state: 'failed', failed: 2 })
    expect(await hq.batches.get(lost)).toMatchObject({ state: 'failed', failed: 1 })
    expect(errors).toContainEqual(expect.stringContaining('queue:broken'))
    expect(await hq.batches.get(broken)).toMatchObject({ state: 'running', pending: 2 })
    await redis.del('queue:broken')
    // A batch that could not be checked pauses for 30 s.
    const now = performance.now.bind(performance)
    const monotonic = vi.spyOn(performance, 'now').mockImplementation(() => now() + 31_000)
    onTestFinished(() => monotonic.mockRestore())
    for (; clock.ahead <= 80; clock.ahead += 10) await maintenance.run()
    expect(await hq.batches.get(broken)).toMatchObject({ state: 'failed', failed: 2 })
    expect(await redis.llen('queue:broken')).toBe(2)
  })
})
