import { execFileSync } from 'node:child_process'
import { getEventListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, type TestContext, test } from 'vitest'
import { job, toQueue } from '../conformance/bench.ts'
import { until } from '../engine/bench.ts'
import { type RedisServer, startServer } from './server.ts'
import type { Match } from './step.ts'
import { openStage } from './steps/stage.ts'
import { onRedis } from './suite.ts'

const NEVER = new AbortController().signal
const UNBLOCK: Match = (name, [what]) => name === 'CLIENT' && String(what).toUpperCase() === 'UNBLOCK'

onRedis('the end of a wait for jobs', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await startServer({ databases: 1000 })
  })
  afterAll(() => server.remove())

  /** A store in which A waits for jobs of `p`. */
  async function openWait(t: TestContext) {
    const stage = await openStage(server, t)
    const about = { queues: ['p', 'q'], seconds: 60, host: '' }
    await stage.store.workers.join('A', about)
    await stage.direct.workers.join('B', about)
    const waits = new AbortController()
    const waiting = stage.store.workers.waitForJobs('A', ['p'], 1, 2000, waits.signal)
    await until(async () => (await stage.blocked()) === 1)
    return { stage, waiting, waits }
  }

  test('an owner that leaves while the server is slow sends few commands to end its wait', async (t) => {
    const { stage, waiting } = await openWait(t)
    await stage.ask(['CONFIG', 'RESETSTAT'])
    const held = stage.fault(UNBLOCK, 'hold')
    const released = stage.store.workers.release('A')
    await held.happened
    await sleep(100)
    held.release()
    expect(await waiting).toEqual([])
    expect(await released).toBe(true)
    const [[stats = ''] = []] = await stage.ask(['INFO', 'commandstats'])
    expect(Number(/client\|unblock:calls=(\d+)/.exec(stats)?.[1])).toBeLessThan(5)
  })

  test('while its event loop is blocked no job comes to an owner that a job has woken', async (t) => {
    const stage = await openStage(server, t)
    const { workers, jobs } = stage.direct
    await workers.join('A', { queues: ['p', 'q'], seconds: 60, host: '' })
    // So that its connections are open.
    await workers.waitForJobs('A', ['p', 'q'], 2, 20, NEVER)
    const waiting = workers.waitForJobs('A', ['p', 'q'], 2, 2000, NEVER)
    await until(async () => (await stage.blocked()) === 2)
    void jobs.push([toQueue('p', job(1))], Date.now())
    expect(await waiting).toHaveLength(1)
    // Nothing else runs in this process meanwhile.
    const command = (...args: string[]) =>
      String(execFileSync('redis-cli', ['-u', server.url(stage.database), ...args])).trim()
    await Promise.resolve()
    command('PING')
    command('LPUSH', 'queue:q', job(2))
    expect(command('LLEN', 'queue:q')).toBe('1')
  })

  test('a job that comes for a second wait of an owner, when the first has brought one, goes to another one soon', async (t) => {
    const stage = await openStage(server, t)
    for (const owner of ['A', 'B'])
      await stage.direct.workers.join(owner, { queues: ['p', 'q'], seconds: 60, host: '' })
    const waiting = stage.store.workers.waitForJobs('A', ['p', 'q'], 2, 2000, NEVER)
    await until(async () => (await stage.blocked()) === 2)
    const held = stage.fault(UNBLOCK, 'hold')
    const push = (queue: string, n: number) => stage.direct.jobs.push([toQueue(queue, job(n))], Date.now())
    await push('q', 1)
    expect(await waiting).toHaveLength(1)
    await held.happened
    await push('p', 2)
    const before = performance.now()
    expect(await stage.direct.workers.waitForJobs('B', ['p'], 1, 5000, NEVER)).toHaveLength(1)
    expect(performance.now() - before).toBeLessThan(1000)
    held.release()
  })

  test('a wait for ordered queues leaves no listener behind', async (t) => {
    const { store } = await openStage(server, t)
    await store.ordered.wait('A', ['q'], 20, NEVER)
    expect(getEventListeners(NEVER, 'abort')).toHaveLength(0)
  })
})
