import { readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openStore } from '#dist/store/open.js'
import { Connection } from '#dist/store/redis/server/connection.js'
import { keysOf } from '#dist/store/redis/server/keys.js'
import { migrate } from '#dist/store/redis/server/migration.js'
import { readRedisUrl } from '#dist/store/redis/server/url.js'
import { jidOf } from '../conformance/tasks/tracked.ts'
import { bench, until } from '../engine/bench.ts'
import { contents, faultsOf, placesOf } from './census.ts'
import { type RedisServer, startServer } from './server.ts'
import { onRedis } from './suite.ts'

type Value = string | { base64: string }
type Command = [name: string, key: string, ...values: Value[]]

/** The database that version 0.1 left behind; see fixtures/version-0.1.mjs. */
const FIXTURE = readFileSync(new URL('fixtures/version-0.1.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Command)
const OLD_NAMES = /^(add.*|held|placed|stays|tolerance|beyond|unknown|watched|before|last|created|progress|ended)$/

onRedis('a database of version 0.1', () => {
  let server: RedisServer
  let databases = 0
  beforeAll(async () => {
    server = await startServer({ databases: 200 })
  })
  afterAll(() => server.remove())

  async function restored(): Promise<{ url: string; redis: Redis }> {
    const url = server.url(++databases)
    const redis = new Redis(url)
    onTestFinished(() => redis.disconnect())
    const pipeline = redis.pipeline()
    for (const [name, key, ...values] of FIXTURE) {
      const args = values.map((value) => (typeof value === 'string' ? value : Buffer.from(value.base64, 'base64')))
      pipeline.call(name, key, ...args)
    }
    for (const [error] of (await pipeline.exec()) ?? []) if (error) throw error
    return { url, redis }
  }

  /** What differs between two migrations: when the owners of version 0.1 were claimed. */
  async function migrated(redis: Redis) {
    return { ...(await contents(redis)), 'hk:leases': (await redis.zrange('hk:leases', '0', '-1')).sort() }
  }

  async function openedOnce() {
    const { url, redis } = await restored()
    const store = openStore(url)
    await store.open()
    await store.close()
    return migrated(redis)
  }

  test('is migrated when a store opens it: each task keeps its state, counts and settings', async () => {
    const { url, redis } = await restored()
    const store = openStore(url)
    onTestFinished(() => store.close())
    await store.open()
    const tasks = await store.tasks.page({ limit: 99 })
    const shown = tasks.map(({ name, state, run, total, backlog, inWindow, window, counts, keepArgs }) => {
      const { enqueued, working, finished, failed, error, cancelled } = counts
      const ended = [finished, failed, error, cancelled].join()
      return `${name}: ${state} ${run} ${total} ${backlog}+${inWindow}/${window} ${enqueued},${working},${ended} ${keepArgs}`
    })
    expect(shown.sort()).toMatchInlineSnapshot(`
      [
        "broken: running 1 5 0+0/100 4,0,0,0,1,0 rejected",
        "cancelling: cancelling 1 6 0+2/2 0,2,0,0,0,4 rejected",
        "done: done 2 20 0+0/100 0,0,19,1,0,0 all",
        "interrupted: adding 1 5 3+2/2 5,0,0,0,0,0 rejected",
        "lists: running 1 8 5+1/1 8,0,0,0,0,0 rejected",
        "paused: paused 1 30 26+0/4 26,0,0,4,0,0 rejected",
        "running: running 1 12 8+4/4 8,4,0,0,0,0 rejected",
      ]
    `)
    const one = (name: string) => tasks.find((task) => task.name === name)
    expect(one('paused')).toMatchObject({ maxFailures: { rows: 2 }, onMaxFailures: 'pause', lostAfter: 3_600_000 })
    expect(one('broken')).toMatchObject({ maxFailures: { percent: 50 }, onMaxFailures: 'cancel' })
    expect(one('lists')).toMatchObject({ rowsPerJob: 3 })
    expect(await store.metrics.totals()).toMatchInlineSnapshot(`
      {
        "backlog": 42,
        "dead": 2,
        "enqueued": 10,
        "failed": 7,
        "fetched": 7,
        "processed": 33,
        "retries": 5,
        "scheduled": 2,
      }
    `)
    const all = await contents(redis)
    expect(faultsOf(all)).toEqual([])
    expect(all['hk:schema']).toBe('2')
    expect(Object.keys(all).filter((key) => /:(adding|taken:.*)$/.test(key))).toEqual([])
    const headers = Object.entries(all).filter(([key]) => /:task:\w{16}$/.test(key))
    expect(
      headers.flatMap(([, header]) => Object.keys(header as object)).filter((name) => OLD_NAMES.test(name)),
    ).toEqual([])
    for (const [, header] of headers) {
      const { keep, keepArgs, single } = header as Record<string, string>
      if (!single) expect(keep).toBe('7776000000000')
      expect(keepArgs).toMatch(/^(all|rejected)$/)
    }
  })

  test('is migrated the same by several processes at once', async () => {
    const expected = await openedOnce()
    const { url, redis } = await restored()
    const stores = Array.from({ length: 4 }, () => openStore(url))
    await Promise.all(stores.map((store) => store.open()))
    expect(await migrated(redis)).toEqual(expected)
    // A process that opens the database later changes nothing.
    const late = openStore(url)
    await late.open()
    expect(await migrated(redis)).toEqual(expected)
    for (const store of [...stores, late]) await store.close()
  })

  test('is migrated the same by another process after the first one was killed between any two steps', async () => {
    const expected = await openedOnce()
    let [steps, isDone] = [0, false]
    for (; !isDone; steps++) {
      const { url, redis } = await restored()
      const options = readRedisUrl(url)
      const killed = new Connection(options)
      await killed.ready()
      let left = steps
      const dying = new Proxy(killed, {
        get(target, name) {
          const value = Reflect.get(target, name)
          if (typeof value !== 'function') return value
          return (...args: unknown[]) => {
            if (left-- <= 0) throw new Error('killed')
            return value.apply(target, args)
          }
        },
      })
      isDone = await migrate(dying, keysOf(''), options, null).then(
        () => true,
        (thrown) => {
          expect(thrown).toMatchObject({ message: 'killed' })
          return false
        },
      )
      killed.close()
      const store = openStore(url)
      await store.open()
      await store.close()
      expect(await migrated(redis)).toEqual(expected)
    }
    expect(steps).toBeGreaterThan(15)
  })

  test('stays refused to processes of version 0.1: keys of theirs have another type', async () => {
    const { url, redis } = await restored()
    const store = openStore(url)
    await store.open()
    await store.close()
    for (const key of ['hk:queues', 'hk:tasks', 'hk:marks', 'hk:{queue:rows}:held', 'hk:{queue:singles}:held']) {
      expect(await redis.lrange(key, 0, -1)).toEqual([expect.stringContaining('stop every process of version 0.1')])
    }
    expect(await redis.ttl('hk:queues')).toBe(-1)
    expect(await redis.ttl('hk:{queue:rows}:held')).toBeGreaterThan(29 * 86_400)
  })

  test('of a later version is refused', async () => {
    const url = server.url(++databases)
    const redis = new Redis(url)
    onTestFinished(() => redis.disconnect())
    await redis.set('hk:schema', '3')
    const store = openStore(url)
    const message = expect.stringMatching(
      /has schema 3, and this version of Highkiq knows schemas up to 2: use the version/,
    )
    await expect(store.open()).rejects.toMatchObject({ code: 'STORE_UNUSABLE', message })
    await expect(store.tasks.page({ limit: 1 })).rejects.toMatchObject({ code: 'STORE_UNUSABLE', message })
    await store.close()
  })

  test('whose keys have another type is named in the error, and migrated once that is mended', async () => {
    const expected = await openedOnce()
    const task = FIXTURE.find(([, key]) => /:task:\w{16}$/.test(key))?.[1] as string
    const names = ['hk:queues', 'hk:tasks', 'hk:marks', 'hk:leases', 'hk:{queue:rows}:leases', 'hk:{queue:rows}:hosts']
    names.push('hk:{queue:imported}:adding', 'hk:{queue:rows}:held', 'hk:{queue:Entities}:ordered', task)
    for (const name of names) {
      const { url, redis } = await restored()
      const isThere = (await redis.exists(name)) === 1
      if (isThere) await redis.rename(name, 'away')
      await redis.xadd(name, '*', 'a', 'b')
      const store = openStore(url)
      await expect(store.open(), name).rejects.toMatchObject({ message: expect.stringContaining(name) })
      await redis.del(name)
      if (isThere) await redis.rename('away', name)
      await store.open()
      await store.close()
      expect(await migrated(redis), name).toEqual(expected)
    }
  })

  test('is worked off to its end: each job and row runs once', { timeout: 60_000 }, async () => {
    const { url, redis } = await restored()
    // The time of delayed jobs comes.
    for (const key of ['retry', 'schedule', ...(await redis.keys('*:ordered:due:*'))]) {
      for (const member of await redis.zrange(key, '0', '-1')) await redis.zadd(key, 1, member)
    }
    const before = await contents(redis)
    const expected = [...placesOf(before)].filter(([, places]) => places.join() !== 'dead').map(([jid]) => jid)
    for (const [, key, ...entries] of FIXTURE) {
      const rows =
        key === 'queue:lists' ? (JSON.parse(entries[0] as string) as { hk_task: string; hk_rows: number[] }) : null
      for (const row of rows?.hk_rows.slice(1) ?? []) expected.push(jidOf(rows?.hk_task as string, row))
      const [, id] = /:task:(\w{16}):backlog$/.exec(key) ?? []
      for (const entry of id ? (entries as string[]) : []) {
        expected.push(jidOf(id as string, Number.parseInt(entry, 10)))
      }
    }
    const dropped = new Set((await redis.zrange('hk:cancelled', '0', '-1')).map(String))
    const cancelling = (await redis.hgetall('hk:tasks')) as Record<string, string>
    const ran: string[] = []
    const payloads: string[] = []
    const keep = async (_ctx: unknown, batch: Map<string, { v: number }[]>) => {
      for (const [id, versions] of batch) payloads.push(...versions.map(({ v }) => `${id} ${v}`))
    }
    const t = bench({ url })
    const { hq } = t
    const run = async ({ jid }: { jid: string }) => void ran.push(jid)
    for (const name of ['Plain', 'Row', 'Tracked', 'Told', 'Nightly']) hq.job(name, { track: name === 'Tracked' }, run)
    hq.job('Rows', async (ctx, rows: number[]) => {
      expect(rows).toHaveLength(ctx.task?.indexes?.length ?? 0)
      for (const index of ctx.task?.indexes ?? []) ran.push(jidOf(ctx.jid.slice(0, 16), index))
    })
    hq.ordered('Entities', { shards: 3, maxPayloads: 2 }, keep)
    const dying = hq.ordered('Dying', { shards: 1 }, keep)
    const queues = [...new Set([...(await redis.smembers('queues')), 'imported', 'singles', 'cancelling', 'flagged'])]
    await hq.queue('told').resume()
    await t.work({ queues, concurrency: 8, leaseSeconds: 1 })
    await dying.morgue.resurrect('all')
    const tasks = async () =>
      (await hq.store.tasks.page({ limit: 99 })).map(({ name, state }) => `${name} ${state}`).sort()
    const paused = (await hq.store.tasks.page({ limit: 99 })).find(({ name }) => name === 'paused')?.id as string
    await hq.tasks.get(paused).resume()
    const ends = [
      'broken done',
      'cancelling cancelled',
      'done done',
      'interrupted interrupted',
      'lists done',
      'paused done',
      'running done',
    ]
    await until(async () => (await tasks()).join() === ends.join())
    await until(async () => {
      const { enqueued, backlog, fetched, scheduled, retries } = await hq.store.metrics.totals()
      return enqueued + backlog + fetched + scheduled + retries === 0
    })
    await t.settled()
    const isDropped = (jid: string) => dropped.has(jid) || cancelling[jid.slice(0, 16)] === 'cancelling'
    expect(ran.sort()).toEqual(expected.filter((jid) => !isDropped(jid)).sort())
    const ids = { 'retries-1': 1, 'retries-2': 3, many: 4, waits: 1, 'dead-1': 2, 'dead-2': 1, 'blocks-1': 2 }
    const more = { 'blocks-2': 2, 'blocks-3': 3, 'blocks-4': 4, 'blocks-5': 5, 'blocks-6': 6 }
    const all = Object.entries({ ...ids, ...more }).flatMap(([id, n]) =>
      Array.from({ length: n }, (_, v) => `${id} ${v}`),
    )
    await until(() => payloads.length >= all.length)
    expect(payloads.sort()).toEqual(all.sort())
    expect(await redis.zcard('dead')).toBe(2)
    expect(await redis.exists('hk:lock:cron:nightly')).toBe(0)
    expect(faultsOf(await contents(redis))).toEqual([])
  })
})
