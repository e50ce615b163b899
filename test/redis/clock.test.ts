import { expect, onTestFinished, test } from 'vitest'
import { bench, until } from '../engine/bench.ts'
import { clockCases, withClock } from '../engine/clock-cases.ts'
import { pathOf } from '../programs/program.ts'
import { suiteWith } from '../programs/suite.ts'
import { freePort } from './port.ts'
import { faketime, redis } from './program.ts'
import { RedisServer } from './server.ts'

suiteWith([redis, faketime], 'a Redis server whose clock is set', () => {
  const start = async () => {
    const { path, setClock } = withClock(pathOf(redis) as string, 'redis')
    const server = new RedisServer(path, await freePort(), {})
    onTestFinished(() => server.remove())
    await server.start()
    return { url: server.url(), setClock }
  }
  clockCases(start)

  test('another process acquires a lock whose holder died before the clock was set back', async () => {
    const { url, setClock } = await start()
    const { store } = bench({ url }).hq
    await store.open()
    expect(await store.workers.acquireLock('d', 'ann', 0.5)).toBe(true)
    setClock(-3600)
    const asked = performance.now()
    expect(await store.workers.acquireLock('d', 'bob', 0.5)).toBe(false)
    await until(() => store.workers.acquireLock('d', 'bob', 0.5))
    expect(performance.now() - asked).toBeGreaterThan(490)
    expect(await store.workers.acquireLock('d', 'ann', 0.5)).toBe(false)
  })
})
