import { expect, test } from 'vitest'
import { all, until } from '../engine/bench.ts'
import { besideRuby } from './world.ts'

besideRuby('what only Highkiq knows, beside Ruby', (world) => {
  test("a pause stops our worker's fetches, and names the Ruby processes that ignore it", async () => {
    const { hq, work } = world().node()
    const theirs = await world().rubyWorker({ queues: ['both'] })
    await work({ queues: ['both', 'node'] })
    await until(async () => (await all(hq.processes())).length === 2)
    const { ignoredBy } = await hq.queue('both').pause()
    const [ruby] = (await all(hq.processes())).filter(({ pid }) => pid === theirs.pid)
    expect(ignoredBy).toEqual([ruby?.identity])
    const Quick = hq.jobNamed('Quick')
    await Quick.set({ queue: 'both' }).performBulk(Array.from({ length: 100 }, () => ['both']))
    await Quick.set({ queue: 'node' }).performAsync('node')
    const ran = (await world().reports(101)).map(({ by, args }) => `${by} ${args}`)
    expect([...new Set(ran)].sort()).toEqual(['node node', 'ruby both'])
  })

  test('waiting jobs of Ruby are cancelled; a job that Ruby runs is not retried here', async () => {
    const { ruby, redis } = world()
    const node = world().node()
    const { hq } = node
    await world().rubyWorker({ queues: ['ruby'] })
    const [waiting, later, failed, running] = await ruby.run<[string, string, string, string]>(`
      [
        Quick.set(queue: "nobody").perform_async,
        Quick.set(queue: "node").perform_in(1000),
        Picky.set(queue: "ruby").perform_async(["ruby"]),
        LongThenFails.set(queue: "ruby", retry_queue: "node").perform_async("go"),
      ]
    `)
    await world().set('retry', 1)
    for (const jid of [waiting, later, failed]) expect(await hq.cancel(jid)).toBe('removed')
    expect(await redis.exists('queue:nobody', 'schedule', 'retry')).toBe(0)

    await world().reports(1, 'began')
    // Ruby tells what it works on with its next heartbeat.
    await until(async () => (await all(hq.running())).length === 1)
    expect(await hq.cancel(running)).toBe('signalled')
    await redis.set('go', 1)
    await world().set('retry', 1)
    await node.work({ queues: ['node'] })
    await world().makeDue('retry')
    await until(async () => (await redis.zcard('retry')) === 0)
    await node.settled()
    expect(await redis.llen('ran')).toBe(0)
  })
})
