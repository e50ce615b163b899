import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FetchedJob, NewRow, Settlement, Store } from '#dist/store/contract.js'
import { openStore } from '#dist/store/open.js'
import { keysOf } from '#dist/store/redis/server/keys.js'
import { NOW, requestOf, toQueue } from '../conformance/bench.ts'
import { begin, expectExact, finish, PRODUCER, rows, spec } from '../conformance/tasks/tracked.ts'
import { contents, faultsOf } from './census.ts'
import { type RedisServer, startServer } from './server.ts'
import { onRedis } from './suite.ts'

const TASK = spec(1, { window: 10, keepArgs: 'rejected' })
const EVENTS = keysOf('').task('q', TASK.id)[1] as string
const WORKING = keysOf('').working('q', 'A')
const RECORD_BYTES = 20
const END = NOW + 9000

interface Bench {
  store: Store
  redis: Redis
  /** The jobs of all rows, which the owner A has fetched. */
  taken: FetchedJob[]
  settle: (settlements: Settlement[]) => ReturnType<Store['workers']['settleAndFetch']>
}

/** Rows of a task that finished together are settled together. */
onRedis('rows that finished together', () => {
  let server: RedisServer
  let databases = 0
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.remove())

  async function withRows(added: NewRow[], use: (bench: Bench) => Promise<void>): Promise<void> {
    const url = server.url(++databases)
    const [store, redis] = [openStore(url), new Redis(url)]
    try {
      await store.tasks.create(TASK)
      await store.tasks.addRows(TASK.id, PRODUCER, 0, added, NOW)
      await store.workers.join('A', { queues: ['q'], seconds: 60, host: 'here' })
      const all = requestOf({ fetch: { queues: ['q'], n: added.length } })
      const { fetched: taken } = await store.workers.settleAndFetch('A', all)
      const settle = (settlements: Settlement[]) => store.workers.settleAndFetch('A', requestOf({ settlements }))
      await use({ store, redis, taken, settle })
    } finally {
      redis.disconnect()
      await store.close()
    }
  }

  test("a row that can't be read is reported, its job is settled, and the other rows finish", () =>
    withRows(rows(0, 5), async ({ store, redis, taken, settle }) => {
      // The status 7 does not exist.
      await redis.setrange(EVENTS, 2 * RECORD_BYTES, '\x1f')
      const { settled, problem } = await settle(taken.map((job) => finish(job)))
      expect(settled).toEqual(taken.map(() => 'ok'))
      expect(problem).toContain('nil value')
      expect((await store.tasks.find(TASK.id))?.counts).toMatchObject({ finished: 4, enqueued: 1 })
      expect(await redis.hlen(WORKING)).toBe(0)
      const records = (await redis.getBuffer(EVENTS)) as Buffer
      expect(taken.map((_, index) => (records[index * RECORD_BYTES] as number) % 8)).toEqual([2, 2, 7, 2, 2])
    }))

  test('a row whose job the server has lost finishes too, so that a copy of the job does not run', () =>
    withRows(rows(0, 3), async ({ store, redis, taken, settle }) => {
      const [field = ''] =
        Object.entries(await redis.hgetall(WORKING)).find(([, text]) => text === taken[1]?.text) ?? []
      await redis.hdel(WORKING, field)
      const { settled, problem } = await settle(taken.map((job) => finish(job)))
      expect(settled).toEqual(['ok', 'ok', 'ok'])
      expect(problem).toContain('1 jobs that ended were not there any more: has the server lost data?')
      expect((await expectExact({ store }, TASK)).counts.finished).toBe(3)

      await store.jobs.push([toQueue('q', taken[1]?.text as string)], NOW)
      const { fetched } = await store.workers.settleAndFetch('A', requestOf({ fetch: { queues: ['q'], n: 1 } }))
      const started = [begin(fetched[0] as FetchedJob)]
      expect((await store.workers.settleAndFetch('A', requestOf({ started }))).started).toEqual(['superseded'])
    }))

  test('rows none of whose jobs are there any more stay as they are', () =>
    withRows(rows(0, 3), async ({ redis, taken, settle }) => {
      await redis.del(WORKING)
      const before = await contents(redis)
      expect((await settle(taken.map((job) => finish(job)))).settled).toEqual(['fenced', 'fenced', 'fenced'])
      expect(await contents(redis)).toEqual(before)
    }))

  test.each([
    ['are alike', [], rows(0, 6)],
    ['of which one had started', [1], rows(0, 6)],
    ['that had all started', [0, 1, 2, 3, 4, 5], rows(0, 6)],
    ['of which some keep a source', [], rows(0, 6).map((row, i) => (i % 2 ? { ...row, source: 'line' } : row))],
    ['that all keep a source', [4], rows(0, 6).map((row) => ({ ...row, source: 'line' }))],
  ])('rows %s finish exactly, and drop their arguments', (_, begun, added) =>
    withRows(added, async ({ store, redis, taken, settle }) => {
      const started = begun.map((i) => begin(taken[i] as FetchedJob, { at: NOW + i }))
      if (started.length > 0) await store.workers.settleAndFetch('A', requestOf({ started }))
      const { settled, problem } = await settle(taken.map((job) => finish(job, { at: END })))
      expect({ settled, problem }).toEqual({ settled: taken.map(() => 'ok'), problem: undefined })
      expect((await expectExact({ store }, TASK)).counts.finished).toBe(6)
      for (const { index, args, source, startedAt, finishedAt } of await store.tasks.events(TASK.id, { limit: 10 })) {
        const since = begun.includes(index) ? NOW + index : null
        expect({ args, source, startedAt, finishedAt }).toEqual({
          args: null,
          source: null,
          startedAt: since,
          finishedAt: END,
        })
      }
      expect(faultsOf(await contents(redis))).toEqual([])
    }),
  )
})
