import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openStore } from '#dist/store/open.js'
import { Connection } from '#dist/store/redis/server/connection.js'
import { keysOf } from '#dist/store/redis/server/keys.js'
import { migrate } from '#dist/store/redis/server/migration.js'
import { readRedisUrl } from '#dist/store/redis/server/url.js'
import { jidOf } from '../conformance/tasks/tracked.ts'
import { bench, until } from '../engine/bench.ts'
import { contents, faultsOf, locationsOf } from './census.ts'
import { type RedisServer, startServer } from './server.ts'
import { onRedis } from './suite.ts'
import { restoreVersion01, VERSION_01 } from './version-01.ts'

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
    return { url, redis: await restoreVersion01(url) }
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
        "limited": 0,
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

  test('gets today’s names for the codes of events, and equal codes of the app’s errors stay', async () => {
    const url = server.url(++databases)
    const redis = new Redis(url)
    onTestFinished(() => redis.disconnect())
    const t = bench({ url })
    const { store } = t.hq
    const J = t.hq.job('J', async (_ctx, _n: number) => {})
    const { id } = await t.hq.tasks.create(
      J,
      Array.from({ length: 1200 }, (_, n) => [n]),
      { window: 1 },
    )
    const told = (code: string, params = {}) => ({ at: 1, code, params })
    const own = [
      {
        status: 'error',
        code: 'foreign',
        messages: [told('apart', { text: 'x' }), told('foreign'), told('message', { text: 'y' })],
      },
      { status: 'error', code: 'ran-elsewhere', messages: [told('ran-elsewhere')] },
      { status: 'cancelled', code: 'stopped', messages: [told('stopped')] },
      { status: 'failed', code: 'foreign', messages: [told('failed', { text: 'x' })] },
      { status: 'error', code: 'stopped', messages: [told('restored', { stalls: 1 }), told('error', { text: 'x' })] },
      { status: 'error', code: 'stalled', messages: [told('stalled', { stalls: 3 })] },
    ] as const
    const effects = Array.from({ length: 1200 }, (_, index) => {
      const { messages, ...change } = own[index % own.length] as (typeof own)[number]
      const attempt = {
        kind: 'event' as const,
        jid: jidOf(id, index),
        run: 1,
        attempt: 0,
        at: 1,
        window: 'leave' as const,
      }
      return { ...attempt, ...change, messages: [...messages] }
    })
    await store.tasks.changeEvents(effects, 1)
    const header = (await redis.keys(`*:task:${id}`))[0] as string
    await redis.hset(header, 'reason', JSON.stringify(told('tolerance', { rejected: 1, ended: 1 })))
    await redis.del('hk:schema')

    const migrating = openStore(url)
    onTestFinished(() => migrating.close())
    await migrating.open()
    const events = await migrating.tasks.events(id, { limit: 2000 })
    const shown = events.map(({ code, messages }) =>
      [code, ...messages.map((one) => `${one.code} ${JSON.stringify(one.params)}`)].join(),
    )
    const expected = [
      'ran-elsewhere,split {"text":"x"},ran-elsewhere {},message {"text":"y"}',
      'ran-elsewhere,ran-elsewhere {}',
      'filtered,filtered {}',
      'foreign,failed {"text":"x"}',
      'stopped,rescued {"crashes":1},error {"text":"x"}',
      'crashed,crashed {"crashes":3}',
    ]
    expect(shown).toEqual(events.map((_, i) => expected[i % expected.length]))
    expect(await migrating.tasks.reasons(id)).toEqual([
      { status: 'failed', code: 'foreign', count: 200 },
      { status: 'error', code: 'crashed', count: 200 },
      { status: 'error', code: 'ran-elsewhere', count: 400 },
      { status: 'error', code: 'stopped', count: 200 },
      { status: 'cancelled', code: 'filtered', count: 200 },
    ])
    const indexes = async (code: string, limit = 9, after = -1) =>
      (await migrating.tasks.events(id, { code, limit, after })).map(({ index }) => index)
    expect(await indexes('ran-elsewhere', 4)).toEqual([0, 1, 6, 7])
    expect(await indexes('ran-elsewhere', 1, 0)).toEqual([1])
    expect(await indexes('filtered', 2)).toEqual([2, 8])
    expect(await indexes('foreign', 2)).toEqual([3, 9])
    expect(await indexes('stopped', 2)).toEqual([4, 10])
    expect(await migrating.tasks.find(id)).toMatchObject({ reason: { code: 'too-many-failures' } })
    // The jobs of ended rows.
    await redis.del('queue:default')
    expect(faultsOf(await contents(redis))).toEqual([])
  })

  test('gets today’s names also for codes that are counted together with others', async () => {
    const url = server.url(++databases)
    const redis = new Redis(url)
    onTestFinished(() => redis.disconnect())
    const t = bench({ url })
    const J = t.hq.job('J', async (_ctx, _n: number) => {})
    const { id } = await t.hq.tasks.create(
      J,
      Array.from({ length: 258 }, (_, n) => [n]),
      { window: 1 },
    )
    const endOf = (index: number, code: string) => {
      const at = { run: 1, attempt: 0, at: 1, window: 'leave' as const, status: 'error' as const }
      return { kind: 'event' as const, jid: jidOf(id, index), ...at, code, messages: [{ at: 1, code, params: {} }] }
    }
    // A task counts 255 codes of a status one by one.
    const codes = Array.from({ length: 258 }, (_, index) => (index < 256 ? `code${index}` : 'foreign'))
    await t.hq.store.tasks.changeEvents(
      codes.map((code, index) => endOf(index, code)),
      1,
    )
    const rejected = (await redis.keys(`*:task:${id}:rejected`))[0] as string
    const stored = async () => [
      await t.hq.store.tasks.reasons(id),
      await redis.zrange(rejected, '0', '-1', 'WITHSCORES'),
    ]
    const before = await stored()
    await redis.del('hk:schema')
    const migrating = openStore(url)
    onTestFinished(() => migrating.close())
    await migrating.open()
    expect(await stored()).toEqual(before)
    const events = await migrating.tasks.events(id, { status: ['error'], otherCodes: true, limit: 9 })
    expect(events.map(({ index, code }) => `${index} ${code}`)).toEqual([
      '255 code255',
      '256 ran-elsewhere',
      '257 ran-elsewhere',
    ])
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
      isDone = await migrate(dying, keysOf(''), options, null, () => {}).then(
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
    const names = ['hk:queues', 'hk:tasks', 'hk:marks', 'hk:leases', 'hk:{queue:rows}:leases', 'hk:{queue:rows}:hosts']
    names.push('hk:{queue:imported}:adding', 'hk:{queue:rows}:held', 'hk:{queue:Entities}:ordered')
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

  test('is migrated without a task that has a key of another type, and this task once the key is mended', async () => {
    const expected = await openedOnce()
    const task = VERSION_01.find(([, key]) => /:task:\w{16}$/.test(key))?.[1] as string
    for (const name of [task, `${task}:rows`]) {
      const { url, redis } = await restored()
      const isThere = (await redis.exists(name)) === 1
      if (isThere) await redis.rename(name, 'away')
      await redis.xadd(name, '*', 'a', 'b')
      const warnings: string[] = []
      const open = async () => {
        const store = openStore(url, { warn: (message) => warnings.push(message) })
        await store.open()
        const tasks = await store.tasks.page({ limit: 99 }).catch(() => [])
        await store.close()
        return tasks
      }
      await open()
      expect(warnings).toEqual([
        expect.stringMatching(`${name} holds a value of another type: its task was not migrated`),
      ])
      const others = (all: Record<string, unknown>) =>
        Object.entries(all).filter(([key]) => !key.startsWith(task) && key !== 'away' && key !== 'hk:schema')
      expect(others(await migrated(redis)), name).toEqual(others(expected))
      await redis.del(name)
      if (isThere) await redis.rename('away', name)
      await open()
      expect(warnings).toHaveLength(1)
      expect(await migrated(redis), name).toEqual(expected)
    }
  })

  test('is processed completely: each job and row runs once', { timeout: 180_000 }, async () => {
    const { url, redis } = await restored()
    // The time of delayed jobs comes.
    for (const key of ['retry', 'schedule', ...(await redis.keys('*:ordered:due:*'))]) {
      for (const member of await redis.zrange(key, '0', '-1')) await redis.zadd(key, 1, member)
    }
    const before = await contents(redis)
    const expected = [...locationsOf(before)].filter(([, places]) => places.join() !== 'dead').map(([jid]) => jid)
    for (const [, key, ...entries] of VERSION_01) {
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
