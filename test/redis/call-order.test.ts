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

  test('wait for an earlier step of their owner even with nothing to read, and not for those of other owners', async (t) => {
    const stage = await openStage(server, t)
    const { store, direct } = stage
    const jobs = ['1', '2', '3'].map((text) => ({ to: 'queue', queue: 'q', text, end: 'back' }) as const)
    await direct.jobs.push(jobs, Date.now())
    const fetch = (owner: string) =>
      store.workers.settleAndFetch(owner, {
        now: Date.now(),
        started: [],
        settlements: [],
        fetch: { queues: ['q'], n: 1 },
      })
    for (const owner of ['A', 'B']) await store.workers.join(owner, { queues: ['q'], seconds: 60, host: '' })
    await direct.cancellations.request('a', Date.now())
    await store.workers.settleAndFetch('A', {
      now: Date.now(),
      started: [],
      settlements: [],
      fetch: { queues: [], n: 0 },
    })
    const held = stage.fault(command('SMEMBERS'), 'hold')
    const calls = [fetch('A')]
    await held.happened
    calls.push(fetch('A'))
    const other = await fetch('B')
    held.release()
    const fetched = [other, ...(await Promise.all(calls))].flatMap((answer) => answer.fetched)
    expect(fetched.map(({ text }) => text)).toEqual(['1', '2', '3'])
  })
})
