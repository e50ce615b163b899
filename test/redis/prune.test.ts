import { expect, test } from 'vitest'
import { openStore } from '#dist/store/open.js'
import { lua } from '#dist/store/redis/lua.generated.js'
import { job, NOW } from '../conformance/bench.ts'
import { startProxy } from './proxy.ts'
import { startServer } from './server.ts'
import { onRedis } from './suite.ts'

onRedis('pruning the dead set', () => {
  test('counts entries that others remove at the last moment', async ({ onTestFinished }) => {
    const server = await startServer()
    onTestFinished(() => server.remove())
    const proxy = await startProxy(server)
    onTestFinished(() => proxy.close())
    const [store, other] = [openStore(proxy.url()), openStore(server.url())]
    onTestFinished(async () => {
      await Promise.all([store.close(), other.close()])
    })
    const dead = [1, 2, 3, 4, 5].map((n) => ({ to: 'dead', text: job(n), score: NOW / 1000 + n }) as const)
    await other.jobs.push([...dead], NOW)
    // Matches the removal, whether it is a command or a script.
    const sources: string[] = [lua.pruneSet.sha, lua.pruneSet.source]
    const removal = proxy.onRequest(
      (name, [script]) => name === 'ZREMRANGEBYRANK' || sources.includes(String(script)),
      'hold',
    )
    const trimmed = store.jobSets.prune('dead', 3, 0)
    await removal.happened
    const swaps = dead.slice(0, 2).map(({ text, score }) => ({ text, score, to: null }))
    expect(await other.jobSets.swap('dead', swaps, NOW)).toEqual(['ok', 'ok'])
    removal.release()
    await trimmed
    const left = await other.jobSets.page('dead', { limit: 10 })
    expect(left.map(({ text }) => text)).toEqual([job(3), job(4), job(5)])
  })
})
