import { expect, test } from 'vitest'
import { until } from '../engine/bench.ts'
import { contents, faultsOf } from '../redis/census.ts'
import { besideRuby } from './world.ts'

const ROWS = 50

besideRuby('a tracked task beside Ruby', (world) => {
  test("its rows may be moved by Ruby's scheduler, and every count stays right", async () => {
    const { redis } = world()
    const node = world().node()
    const worker = await node.work({ queues: ['node'] })
    const task = await node.hq.tasks.create(
      node.hq.jobNamed('Once'),
      Array.from({ length: ROWS }, (_, n) => [n]),
      { window: 10, queue: 'node' },
    )
    // All fail the first time. What is put off makes room for the next in the window.
    await world().set('retry', ROWS)
    await worker.quiet()
    await world().rubyWorker({ queues: ['ruby'] })
    await world().makeDue('retry')
    await until(async () => (await redis.zcard('retry')) === 0)
    // Ruby knows nothing of the window: it lets in more rows than it should.
    expect((await task.status())?.counts).toMatchObject({ enqueued: ROWS, finished: 0 })

    await node.work({ queues: ['node'] })
    const { state, counts } = await task.wait()
    expect(state).toBe('done')
    expect(counts).toMatchObject({ finished: ROWS, enqueued: 0, working: 0, error: 0 })
    await node.settled()
    expect(faultsOf(await contents(redis))).toEqual([])
    expect(await redis.llen('ran')).toBe(ROWS)
  })
})
