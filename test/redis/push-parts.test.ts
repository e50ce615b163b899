import { Highkiq, type PushError } from 'highkiq'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { recorder } from '../engine/bench.ts'
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
})
