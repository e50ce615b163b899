import { Highkiq, type HighkiqOptions, type PushError } from 'highkiq'
import { createHandler } from 'highkiq/http'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { recorder } from '../engine/bench.ts'
import { startProxy } from './proxy.ts'
import { type RedisServer, startServer } from './server.ts'
import { onRedis } from './suite.ts'

onRedis('a push in several parts of which one fails', () => {
  let server: RedisServer
  let databases = 0
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.remove())

  function open() {
    const url = server.url(++databases)
    const [hq, redis] = [new Highkiq({ url, logger: recorder() }), new Redis(url)]
    onTestFinished(async () => {
      redis.disconnect()
      await hq.close()
    })
    return { hq, redis }
  }

  test('pushes in the same moment: each error tells the state of its own job', async () => {
    const { hq, redis } = open()
    await redis.set('queue:spoilt', 'no list')
    const push = (queue: string) => hq.push({ class: 'J', args: [], queue })
    const [good, bad, later] = await Promise.allSettled([
      push('good'),
      push('spoilt'),
      hq.push({ class: 'J', args: [], at: Date.now() / 1000 + 60 }),
    ])
    expect([good?.status, later?.status]).toEqual(['fulfilled', 'fulfilled'])
    const reason = (bad as PromiseRejectedResult).reason as PushError
    expect(reason).toMatchObject({ code: 'PUSH_FAILED', maybePushed: false })
    expect(reason.notPushed).toEqual(reason.jids)
    expect(await redis.llen('queue:good')).toBe(1)
    expect(await redis.zcard('schedule')).toBe(1)
  })

  test('a bulk: the parts before the failed one are stored, and its own jobs certainly are not', async () => {
    const { hq, redis } = open()
    async function* rows() {
      for (let n = 0; n < 6; n++) {
        // Another client breaks the queue after the second batch.
        if (n === 4) await redis.multi().del('queue:default').set('queue:default', 'no list').exec()
        yield [n]
      }
    }
    const J = hq.job('J', (_ctx, _n: number) => {})
    const stored: string[] = []
    hq.client.use(async (payload, next) => {
      stored.push(payload.jid)
      return next()
    })
    const error: PushError = await J.performBulk(rows() as AsyncIterable<[number]>, { batchSize: 2 }).catch(
      (thrown) => thrown,
    )
    expect(error).toMatchObject({ code: 'PUSH_FAILED', maybePushed: false })
    expect(error.pushed).toEqual(stored.slice(0, 4))
    expect(error.notPushed).toEqual(stored.slice(4))
    expect(error.jids).toEqual(error.notPushed)
    expect(error.details).toMatchObject({ rows: [4, 5], next: 6 })
  })

  test('tracked and other jobs in one bulk: jobs of a stored part are not in notPushed', async () => {
    const { hq, redis } = open()
    await redis.set('queue:spoilt', 'no list')
    hq.job('Tracked', { track: true, queue: 'good' }, () => {})
    // Client middleware sends every second job to another queue, without an event.
    hq.client.use(async (payload, next) => {
      const after = await next()
      if (!after || payload.args[0] !== 'else') return after
      const { hk_task: _, ...rest } = after
      return { ...rest, queue: 'spoilt' } as never
    })
    const error: PushError = await hq
      .pushBulk({ class: 'Tracked', args: [['here'], ['else'], ['here']] })
      .then(() => expect.unreachable())
      .catch((thrown) => thrown)
    expect(error).toMatchObject({ code: 'PUSH_FAILED', maybePushed: false })
    expect([error.pushed.length, error.jids.length, error.notPushed.length]).toEqual([2, 1, 1])
    expect(error.details).toMatchObject({ rows: [1], next: 3 })
    const texts = await redis.lrange('queue:good', '0', '-1')
    expect(texts.map((text) => JSON.parse(text).jid).sort()).toEqual([...error.pushed].sort())
  })

  test('jobs without an answer are maybePushed, and not in notPushed', async () => {
    const { hq, redis } = open()
    await hq.store.open()
    // The server is paused for longer than a command may take.
    const slow = new Highkiq({ url: server.url(databases), logger: recorder(), redisTimeout: 0.2 })
    onTestFinished(() => slow.close())
    await slow.store.jobSets.size('dead')
    await redis.call('CLIENT', 'PAUSE', '1500', 'WRITE')
    const error: PushError = await slow.push({ class: 'J', args: [] }).then(
      () => expect.unreachable(),
      (thrown) => thrown,
    )
    expect(error).toMatchObject({ code: 'PUSH_FAILED', maybePushed: true, notPushed: [] })
    expect(error.jids).toHaveLength(1)
    await redis.call('CLIENT', 'UNPAUSE')
  })

  /** An app, and a function that cuts its connection before the `nth` script that pushes from now on. */
  async function behindProxy(options: Partial<HighkiqOptions> = {}) {
    const proxy = await startProxy(server)
    const { redis } = open()
    const hq = new Highkiq({ url: proxy.url(databases), logger: recorder(), redisTimeout: 1, ...options })
    onTestFinished(async () => {
      await hq.close()
      await proxy.close()
    })
    const cutBefore = (nth: number) => {
      let scripts = 0
      const isNext = (name: string, args: Buffer[]) =>
        name.startsWith('EVAL') && args.some((arg) => arg.includes('"class":"J"')) && ++scripts === nth
      return proxy.onRequest(isNext, 'cut-before')
    }
    return { hq, redis, proxy, cutBefore }
  }

  const rows = Array.from({ length: 150 }, (_, n): [number] => [n])
  const jidsIn = async (redis: Redis) =>
    new Set((await redis.lrange('queue:q', '0', '-1')).map((text) => JSON.parse(text).jid))

  test('single pushes to a full queue: those of the script before the failed one throw QUEUE_FULL', async () => {
    const { hq, redis, cutBefore } = await behindProxy({ queues: { q: { maxLength: 1 } } })
    const J = hq.job('J', { queue: 'q' }, (_ctx, _n: number) => {})
    await J.performAsync(-1)
    // The first push goes at once, the others together: 100 in one script and 49 in the next.
    const { happened } = cutBefore(3)
    const answers = await Promise.allSettled(rows.map(([n]) => J.performAsync(n)))
    await happened
    const codes = answers.map((answer) => (answer.status === 'rejected' ? answer.reason.code : 'stored'))
    expect(codes.filter((code) => code === 'QUEUE_FULL').length).toBe(101)
    expect(codes.filter((code) => code === 'PUSH_FAILED').length).toBe(49)
    expect(await redis.llen('queue:q')).toBe(1)
  })

  test('a bulk to a full queue: the rows of the script before the failed one are in notPushed', async () => {
    const { hq, redis, cutBefore } = await behindProxy({ queues: { q: { maxLength: 11 } } })
    const J = hq.job('J', { queue: 'q' }, (_ctx, _n: number) => {})
    await J.performAsync(-1)
    const { happened } = cutBefore(2)
    const error: PushError = await J.performBulk(rows).then(
      () => expect.unreachable(),
      (thrown) => thrown,
    )
    await happened
    expect(error.code).toBe('PUSH_FAILED')
    const stored = await jidsIn(redis)
    expect(stored.size).toBe(11)
    expect([error.pushed.length, error.pushed.every((jid) => stored.has(jid))]).toEqual([10, true])
    expect(error.jids).toHaveLength(140)
    expect(error.notPushed.length).toBeGreaterThanOrEqual(90)
    expect((error.details as { rows: number[] }).rows.slice(0, 90)).toEqual(
      Array.from({ length: 90 }, (_, n) => n + 10),
    )
  })

  test('jobs pushed over HTTP with a key: a repeat does not store again what the lost script has stored', async () => {
    const { hq, redis, proxy } = await behindProxy({ queues: { q: { maxLength: 1 } } })
    hq.job('J', { queue: 'q' }, () => {})
    await hq.push({ class: 'J', args: [] })
    const handle = createHandler(hq)
    const jobs = [{ class: 'J', args: [] }, ...rows.map((args) => ({ class: 'J', args, queue: 'plain' }))]
    const request = () =>
      handle(
        new Request('http://localhost/api/v1/jobs', {
          method: 'POST',
          body: JSON.stringify(jobs),
          headers: { 'content-type': 'application/json', 'idempotency-key': 'one' },
        }),
        { remote: '127.0.0.1' },
      )
    const stores = (_name: string, args: Buffer[]) => args.some((arg) => arg.includes('"queue":"plain"'))
    const { happened } = proxy.onRequest(stores, 'cut-before-reply')
    const first = await request()
    await happened
    expect([first.status, ((await first.json()) as { error: { code: string } }).error.code]).toEqual([
      503,
      'PUSH_FAILED',
    ])
    await request()
    expect(await redis.llen('queue:plain')).toBe(150)
  })

  test.each(['raise', 'drop'] as const)('unique pushes with onConflict %s: the lock decides', async (onConflict) => {
    const { hq, redis, cutBefore } = await behindProxy()
    const J = hq.job('J', { queue: 'q', unique: { for: 60, onConflict } }, (_ctx, _n: number) => {})
    const holders = await Promise.all(rows.slice(0, 101).map(([n]) => J.performAsync(n)))
    // The first push goes at once, the others together: 100 in one script and 49 in the next.
    const { happened } = cutBefore(3)
    const answers = await Promise.allSettled(rows.map(([n]) => J.performAsync(n)))
    await happened
    const ends = answers.map((answer) => (answer.status === 'rejected' ? answer.reason.code : answer.value))
    const locked = holders.map((jid) => (onConflict === 'raise' ? 'UNIQUE_CONFLICT' : jid))
    expect(ends.slice(0, 101)).toEqual(locked)
    expect(new Set(ends.slice(101))).toEqual(new Set(['PUSH_FAILED']))
    expect(await jidsIn(redis)).toEqual(new Set(holders))
  })

  /** Stores jobs with locks, of which only the job of row 3 has left its queue, so that its lock has no waiting job. */
  async function replacing() {
    const { hq, redis, proxy } = await behindProxy()
    const J = hq.job(
      'J',
      { queue: 'q', unique: { by: (n) => String(n), onConflict: 'replace' } },
      (_ctx, _n: number) => {},
    )
    await J.performAsync(3)
    await redis.rpop('queue:q')
    return { redis, proxy, J }
  }
  const isPush = (name: string, args: Buffer[]) =>
    name.startsWith('EVAL') && args.some((arg) => arg.includes('"class":"J"'))
  const refused = (push: Promise<unknown>): Promise<PushError> =>
    push.then(
      () => expect.unreachable(),
      (thrown) => thrown,
    )

  test('a push whose answer comes after the store has closed is maybePushed', async () => {
    const { hq, redis, proxy } = await behindProxy()
    const J = hq.job('J', { queue: 'q', unique: { for: 60 } }, () => {})
    await hq.store.open()
    const held = proxy.onRequest(isPush, 'hold-reply')
    const pushing = refused(J.performAsync())
    await held.happened
    await hq.store.close()
    expect(await pushing).toMatchObject({ code: 'PUSH_FAILED', maybePushed: true, notPushed: [] })
    expect(await redis.llen('queue:q')).toBe(1)
    // Nothing is sent behind that.
    expect(await refused(J.performAsync())).toMatchObject({ maybePushed: false, cause: { code: 'STORE_CLOSED' } })
  })

  test('a push that is repeated because the holder is gone: its error has its jid', async () => {
    const { proxy, J } = await replacing()
    proxy.onRequest(isPush, 'pass')
    const { happened } = proxy.onRequest(isPush, 'cut-before')
    const error = await refused(J.performAsync(3))
    await happened
    expect(error).toMatchObject({ code: 'PUSH_FAILED', jids: [expect.any(String)] })
    expect([...error.notPushed, ...(error.maybePushed ? error.jids : [])]).toEqual(error.jids)
  })

  test("a bulk whose refused row can't be pushed again: the error names the stored rows", async () => {
    const { redis, proxy, J } = await replacing()
    proxy.onRequest(isPush, 'pass')
    const { happened } = proxy.onRequest(isPush, 'cut-before')
    const error = await refused(J.performBulk([[1], [2], [3], [4]]))
    await happened
    expect(error).toMatchObject({ code: 'PUSH_FAILED', jids: [expect.any(String)] })
    expect(error.pushed).toHaveLength(3)
    expect(await jidsIn(redis)).toEqual(new Set(error.pushed))
    expect(error.details).toMatchObject({ rows: error.maybePushed ? [] : [2], next: 4 })
  })

  test("a push whose holder can't be replaced: PUSH_FAILED, and its jid is in notPushed", async () => {
    const { redis, J } = await replacing()
    await J.performAsync(5)
    // The scheduled jobs, in which the client looks for the holder, can't be read.
    await redis.set('schedule', 'no set')
    const error = await refused(J.performAsync(5))
    expect(error).toMatchObject({ code: 'PUSH_FAILED', maybePushed: false })
    expect([error.jids.length, error.notPushed]).toEqual([1, error.jids])
  })
})
