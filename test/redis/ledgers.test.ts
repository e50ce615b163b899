import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FetchedJob, Settlement, Store } from '#dist/store/contract.js'
import { openStore } from '#dist/store/open.js'
import { keysOf } from '#dist/store/redis/server/keys.js'
import { NOW, requestOf } from '../conformance/bench.ts'
import { apart } from '../conformance/tasks/apart.ts'
import { begin, expectExact, PRODUCER, postpone, rows, spec } from '../conformance/tasks/tracked.ts'
import { contents, faultsOf } from './census.ts'
import { type RedisServer, startServer } from './server.ts'
import { onRedis } from './suite.ts'

const TASK = spec(1, { rowsPerJob: 5, window: 3 })
const [HEADER = '', EVENTS = ''] = keysOf('').task('q', TASK.id)

onRedis('a damaged ledger of a task', () => {
  let server: RedisServer
  let databases = 0
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.remove())

  /** Runs `use` with an owner of the first job, of five rows; one more job is in the queue. */
  async function withJob(use: (store: Store, redis: Redis, taken: FetchedJob) => Promise<void>): Promise<void> {
    const url = server.url(++databases)
    const [store, redis] = [openStore(url), new Redis(url)]
    try {
      await store.tasks.create(TASK)
      await store.tasks.addRows(TASK.id, PRODUCER, 0, rows(0, 9), NOW)
      await store.workers.join('A', { queues: ['q'], seconds: 60, host: 'here' })
      const { fetched: taken } = await store.workers.settleAndFetch('A', requestOf({ fetch: { queues: ['q'], n: 1 } }))
      await use(store, redis, taken[0] as FetchedJob)
    } finally {
      redis.disconnect()
      await store.close()
    }
  }

  test.each(['enqueued', 'finished', 'inWindow', 'backlog'])(
    'a header whose %s is no number: nothing changes',
    (field) =>
      withJob(async (store, redis, taken) => {
        const sound = await redis.hget(HEADER, field)
        await redis.hset(HEADER, field, 'many')
        const before = await contents(redis)
        const settle = (settlement: Settlement) =>
          store.workers.settleAndFetch('A', requestOf({ settlements: [settlement] }))
        for (const settlement of [apart(taken), postpone(taken, 5), apart(taken)]) {
          const { settled, problem } = await settle(settlement)
          expect({ settled, problem }).toEqual({ settled: ['error'], problem: expect.stringContaining(`its ${field}`) })
          expect(await contents(redis)).toEqual(before)
        }
        const { problem } = await store.workers.settleAndFetch('A', requestOf({ started: [begin(taken)] }))
        expect(problem).toContain(`its ${field}`)
        expect(await contents(redis)).toEqual(before)

        if (sound === null) await redis.hdel(HEADER, field)
        else await redis.hset(HEADER, field, sound)
        expect((await settle(apart(taken))).settled).toEqual(['ok'])
        await expectExact({ store }, TASK)
        expect(faultsOf(await contents(redis))).toEqual([])
      }),
  )

  test('a truncated record: its job is settled, and each job exists once', () =>
    withJob(async (store, redis, taken) => {
      const records = await redis.getBuffer(EVENTS)
      await redis.set(EVENTS, (records as Buffer).subarray(0, 4 * 20 + 7))
      const { settled } = await store.workers.settleAndFetch('A', requestOf({ settlements: [apart(taken)] }))
      expect(settled).toEqual(['ok'])
      expect(await redis.llen('queue:q')).toBe(3)
      expect(await redis.hlen('hk:{queue:q}:working:A')).toBe(0)
      expect([await redis.zcard('retry'), await redis.zcard('dead')]).toEqual([1, 1])
    }))
})
