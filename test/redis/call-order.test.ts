import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RedisServer, startServer } from './server.ts'
import { command, openStage } from './steps/stage.ts'
import { onRedis } from './suite.ts'

const NEVER = new AbortController().signal

onRedis('the steps of a worker', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.remove())

  test('reach the server in the order of their calls, also when the first must read the names of queues before', async (t) => {
    const stage = await openStage(server, t)
    const { store, direct } = stage
    await store.workers.join('A', { queues: ['q'], seconds: 60, host: '' })
    const { newest } = await direct.events.record(100, Date.now())
    const step = (...kinds: string[]) => {
      const effects = kinds.map((kind) => ({ kind: 'record', jid: 'a', about: JSON.stringify([kind]) }) as const)
      const started = kinds.length > 0 ? [{ queue: '', ticket: '', effects }] : []
      return store.workers.settleAndFetch('A', {
        now: Date.now(),
        started,
        settlements: [],
        fetch: { queues: [], n: 0 },
      })
    }
    await step()
    // With a new version of cancellations the next step reads the names of the queues.
    await direct.cancellations.request('a', Date.now())
    await step()
    const held = stage.fault(command('SMEMBERS'), 'hold')
    const calls = [step('started')]
    await held.happened
    calls.push(step('succeeded'))
    held.release()
    await Promise.all(calls)
    const events = await direct.events.read(newest, { limit: 10, ms: 0, signal: NEVER }, Date.now)
    expect(events?.map(({ event }) => (event as string[])[1])).toEqual(['started', 'succeeded'])
  })
})
