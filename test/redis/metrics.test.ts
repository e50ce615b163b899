import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Sidekiq } from '#dist/job/payload.js'
import type { Store } from '#dist/store/contract.js'
import { openStore } from '#dist/store/open.js'
import { counts } from '../conformance/metrics/metrics.ts'
import { stringsOf } from './ask.ts'
import { type RedisServer, startServer } from './server.ts'
import { onRedis } from './suite.ts'

/** Checks the keys, fields and times to live that Sidekiq's own pages read, without our code. */
onRedis('metrics on Sidekiq’s keys', () => {
  let server: RedisServer
  let databases = 0
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.remove())

  /** A minute before nine o'clock: hour and day have one digit. */
  const AT = Date.UTC(2025, 1, 4, 8, 5, 59)

  type Ask = (...command: string[]) => Promise<string[]>

  async function withStore(use: (store: Store, ask: Ask, url: string) => Promise<void>, wire: Sidekiq = 8) {
    const database = ++databases
    const url = server.url(database)
    const store = openStore(url, { wire })
    try {
      const ask: Ask = async (...command) => (await stringsOf(server.port, ['SELECT', `${database}`], command))[1] ?? []
      await use(store, ask, url)
    } finally {
      await store.close()
    }
  }

  /** Returns the keys of the recorded counts, with their time to live in seconds. */
  async function recorded(store: Store, ask: Ask) {
    const jobs = [counts('A::Job', 3, 1, 48, { 0: 1, 1: 2, 25: 1 }), counts('B', 1, 1)]
    await store.metrics.record({ source: 'x', number: 1, at: AT, jobs })
    const keys = (await ask('KEYS', '*')).filter((key) => !key.startsWith('hk:')).sort()
    const lives = await Promise.all(keys.map(async (key) => Number((await ask('TTL', key))[0])))
    return Object.fromEntries(keys.map((key, i) => [key, lives[i]]))
  }

  const HOURS_8 = 28_800
  const DAYS_3 = 259_200

  test('version 8: minute and ten minutes, and a bit field for each class', async () => {
    await withStore(async (store, ask) => {
      expect(await recorded(store, ask)).toEqual({
        'h|A::Job-4-8:5': HOURS_8,
        'j|250204|8:0': DAYS_3,
        'j|250204|8:05': HOURS_8,
      })
      for (const key of ['j|250204|8:05', 'j|250204|8:0']) {
        expect(pairs(await ask('HGETALL', key))).toEqual({
          'A::Job|p': '3',
          'A::Job|f': '1',
          'A::Job|ms': '48',
          'B|p': '1',
          'B|f': '1',
        })
      }
      const wanted = Array.from({ length: 26 }, (_, i) => ['GET', 'u16', `#${i}`]).flat()
      const read = await ask('BITFIELD_RO', 'h|A::Job-4-8:5', ...wanted)
      expect(read.map(Number)).toEqual([1, 2, ...Array(23).fill(0), 1])
    })
  })

  test('version 7: the minute’s key is another, and the histogram has no prefix', async () => {
    await withStore(async (store, ask) => {
      expect(await recorded(store, ask)).toEqual({
        'A::Job-04-08:5': HOURS_8,
        'j|20250204|8:5': HOURS_8,
        'j|250204|8:0': DAYS_3,
      })
      expect(pairs(await ask('HGETALL', 'j|20250204|8:5'))).toMatchObject({ 'A::Job|p': '3', 'A::Job|ms': '48' })
    }, 7)
  })

  test('version 6 has hours and days as well', async () => {
    await withStore(async (store, ask) => {
      expect(await recorded(store, ask)).toEqual({
        'A::Job-04-08:5': HOURS_8,
        'j|20250204': 90 * 86_400,
        'j|20250204|8': 7 * 86_400,
        'j|20250204|8:5': HOURS_8,
        'j|250204|8:0': DAYS_3,
      })
    }, 6)
  })

  test('counts of all versions are read and added up', async () => {
    await withStore(async (store, _ask, url) => {
      for (const wire of [8, 7, 6] as const) {
        const one = openStore(url, { wire })
        const jobs = [counts('A', 1, 0, 1, { 3: 1 })]
        await one.metrics.record({ source: `${wire}`, number: 1, at: AT, jobs })
        await one.close()
      }
      const minute = AT - (AT % 60_000)
      expect(await store.metrics.sums(1, [minute])).toEqual([{ at: minute, name: 'A', processed: 3, failed: 0, ms: 3 }])
      const [{ counts: read = [] } = {}] = await store.metrics.histograms(1, [{ name: 'A', times: [minute] }])
      expect(read[3]).toBe(3)
      expect(await store.metrics.sums(10, [Date.UTC(2025, 1, 4, 8)])).toMatchObject([{ processed: 3 }])
    })
  })

  test('an invalid field is reported, and does not stop the others', async () => {
    await withStore(async (store, ask) => {
      await ask('HSET', 'j|250204|8:05', 'A::Job|p', 'many', 'what', 'ever')
      await expect(recorded(store, ask)).rejects.toThrow('j|250204|8:05')
      expect(pairs(await ask('HGETALL', 'j|250204|8:05'))).toMatchObject({ 'A::Job|f': '1', 'A::Job|ms': '48' })
      expect(await store.metrics.sums(1, [AT - (AT % 60_000)], 'A::Job')).toMatchObject([{ failed: 1, ms: 48 }])
    })
  })

  test('deploys are recorded by the minute, as in Sidekiq', async () => {
    await withStore(async (store, ask) => {
      await store.metrics.recordDeploy({ at: Date.UTC(2025, 1, 4, 8, 5), label: 'abc123 Fix it' }, AT)
      expect(pairs(await ask('HGETALL', '20250204-marks'))).toEqual({ '2025-02-04T08:05:00Z': 'abc123 Fix it' })
      expect(Number((await ask('TTL', '20250204-marks'))[0])).toBe(7_776_000)
      expect(await ask('GET', 'deploylock-abc123 Fix it')).toEqual(['2025-02-04T08:05:00Z'])
      expect(Number((await ask('TTL', 'deploylock-abc123 Fix it'))[0])).toBe(60)
    })
  })

  test('an iteration’s hash has Sidekiq’s fields, and is kept for thirty days from the first time on', async () => {
    await withStore(async (store, ask) => {
      await store.jobs.saveIteration('j', { executions: 2, runtime: 1.25, cursor: '[7,"x"]' }, AT)
      expect(pairs(await ask('HGETALL', 'it-j'))).toEqual({ ex: '2', c: '[7,"x"]', rt: '1.25' })
      expect(Number((await ask('TTL', 'it-j'))[0])).toBe(2_592_000)
      await ask('EXPIRE', 'it-j', '1000')
      await store.jobs.saveIteration('j', { executions: 3, runtime: 2, cursor: '8' }, AT)
      expect(Number((await ask('TTL', 'it-j'))[0])).toBe(1000)
      // Ruby cancelled the job before it ran: then the hash has no other field.
      await ask('HSET', 'it-other', 'cancelled', '1723900000')
      expect(await store.jobs.iterations(['other'])).toEqual([
        { executions: 0, runtime: 0, cursor: null, cancelled: 1_723_900_000_000 },
      ])
    })
  })
})

function pairs(words: string[]): Record<string, string> {
  return Object.fromEntries(words.flatMap((word, i) => (i % 2 === 0 ? [[word, words[i + 1] ?? '']] : [])))
}
