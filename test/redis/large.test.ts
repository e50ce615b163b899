import { Redis } from 'ioredis'
import { expect, type TestContext, test } from 'vitest'
import { openStore } from '#dist/store/open.js'
import { job, NOW, retry, turnOf } from '../conformance/bench.ts'
import { startServer } from './server.ts'
import { onRedis } from './suite.ts'

/** What the server does for one step stays small, however much it holds: counted by its own figures, not by time. */
onRedis('much of one kind', () => {
  async function stage({ onTestFinished }: TestContext) {
    const server = await startServer()
    const redis = new Redis(server.url())
    const store = openStore(server.url())
    onTestFinished(async () => {
      redis.disconnect()
      await store.close()
      await server.remove()
    })
    const callsOf = async (command: string) => {
      const [, calls = '0'] = new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(await redis.info('commandstats')) ?? []
      return Number(calls)
    }
    return { redis, store, callsOf }
  }

  test('of 2,000 equal texts each has its place in a set, for a few looks each', async (context) => {
    const { redis, store, callsOf } = await stage(context)
    const count = 2000
    const text = job('the same')
    await redis.lpush('queue:q', ...Array.from({ length: count }, () => text))
    await store.join('owner', { queues: ['q'], seconds: 600, host: 'here' })
    for (let left = count; left > 0; ) {
      const { taken } = await store.turn('owner', turnOf({ take: { queues: ['q'], n: 200 } }))
      const { settled } = await store.turn('owner', turnOf({ settlements: taken.map((one) => retry(one, NOW)) }))
      expect(settled.every((answer) => answer === 'ok')).toBe(true)
      left -= taken.length
    }
    const entries = await redis.zrange('retry', '0', '-1')
    expect(entries).toHaveLength(count)
    const [first] = entries
    for (const entry of entries) expect(JSON.parse(entry)).toEqual(JSON.parse(first ?? ''))
    expect(Math.max(...entries.map(({ length }) => length))).toBeLessThan((first?.length ?? 0) + 13)
    expect(await callsOf('zscore')).toBeLessThan(count * 30)
  })
})
