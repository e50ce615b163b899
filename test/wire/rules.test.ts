import type { HighkiqError } from 'highkiq'
import { expect, test } from 'vitest'
import { bench, Collector, gate, until } from '../engine/bench.ts'
import { onRedis } from '../redis/suite.ts'
import { wires } from './world.ts'

/** Rules beside the forty traps that nothing else holds: on Sidekiq's wire, and below on both stores. */
onRedis('on Sidekiq’s wire', () => {
  const wire = wires()

  test('the figures of a day are kept for five years', async () => {
    const t = wire()
    t.hq.job('J', { retry: false }, (_ctx, fails: boolean) => {
      if (fails) throw new Error('no')
    })
    await t.hq.pushBulk({ class: 'J', args: [[true], [false]], retry: false })
    await t.work()
    await until(async () => (await t.redis('MGET', 'stat:processed', 'stat:failed')).join() === '2,1')
    const day = new Date().toISOString().slice(0, 10)
    for (const which of ['processed', 'failed']) {
      const seconds = Number(await t.redis('TTL', `stat:${which}:${day}`))
      expect(seconds).toBeGreaterThan(157_680_000 - 60)
      expect(seconds).toBeLessThanOrEqual(157_680_000)
      expect(await t.redis('TTL', `stat:${which}`)).toEqual(['-1'])
    }
  })

  test('a signal waits a minute for its process', async () => {
    const t = wire()
    await t.redis('SADD', 'processes', 'ruby:1:aa')
    await t.redis('HSET', 'ruby:1:aa', 'info', '{}', 'busy', 0, 'beat', 1)
    const process = await t.hq.processes().find('ruby:1:aa')
    expect(await process?.quiet()).toBe(true)
    expect(await process?.stop()).toBe(true)
    // The older one is the next to be popped.
    expect(await t.redis('LRANGE', 'ruby:1:aa-signals', 0, -1)).toEqual(['TERM', 'TSTP'])
    const seconds = Number(await t.redis('TTL', 'ruby:1:aa-signals'))
    expect(seconds).toBeGreaterThan(50)
    expect(seconds).toBeLessThanOrEqual(60)
  })

  test.for<[what: string, begin: string[], end: string[]]>([
    ['it has become a replica (READONLY)', ['REPLICAOF', '127.0.0.1', '1'], ['REPLICAOF', 'NO', 'ONE']],
    [
      'its replicas are gone (NOREPLICAS)',
      ['CONFIG', 'SET', 'min-replicas-to-write', '1'],
      ['CONFIG', 'SET', 'min-replicas-to-write', '0'],
    ],
  ])(
    'while a server takes no writes because %s a push says that nothing is stored, and an ended job is settled later',
    async ([, begin, end]) => {
      const t = wire()
      const ran = new Collector<number>()
      t.hq.job('J', (_ctx, n: number) => ran.add(n))
      const started = new Collector<number>()
      const { opened, open } = gate()
      t.hq.job('Held', async () => {
        started.add(1)
        await opened
      })
      await t.work()
      await t.hq.push({ class: 'J', args: [1] })
      await t.hq.push({ class: 'Held', args: [] })
      await ran.atLeast(1)
      await started.atLeast(1)
      await t.redis(...begin)
      try {
        open()
        await until(() => t.errors.length > 0)
        expect(t.errors.map(({ error }) => (error as HighkiqError).code)).toEqual(['STORE_UNREACHABLE'])
        await expect(t.hq.push({ class: 'J', args: [2] })).rejects.toMatchObject({
          maybePushed: false,
          cause: { code: 'STORE_UNREACHABLE' },
        })
      } finally {
        await t.redis(...end)
      }
      await until(() => t.hq.push({ class: 'J', args: [3] }).catch(() => null))
      expect(await ran.atLeast(2)).toEqual([1, 3])
      await t.settled()
      expect(await t.hq.stats()).toMatchObject({ processed: 3, failed: 0, retries: 0, dead: 0 })
    },
  )
})

test('the result of client middleware for a due job is checked like a push: an invalid job stays where it is', async () => {
  const t = bench()
  const at = t.hq.now() / 1000 + 100
  await t.hq.push({ class: 'J', args: [1], at })
  t.hq.client.use((job, next) => {
    job.args = [new Date()]
    return next()
  })
  await t.work({ queues: ['idle'] })
  t.clock.ahead = 200
  await until(() => t.errors.length > 0)
  expect(t.errors[0]).toMatchObject({ error: { code: 'INVALID_ARGS' }, about: { during: 'promoting a due job' } })
  expect(await t.set('schedule')).toMatchObject([{ args: [1] }])
  expect(await t.queue()).toEqual([])
})

test('pushes of a job pass the client middleware of its process', async () => {
  const t = bench()
  t.hq.client.use((job, next) => {
    job.tenant = 'a'
    return next()
  })
  const ran = new Collector<unknown>()
  const Inner = t.hq.job('Inner', (ctx) => ran.add(ctx.payload.tenant))
  const Outer = t.hq.job('Outer', async () => {
    await Inner.performAsync()
    await Inner.performBulk([[], []])
  })
  await Outer.performAsync()
  await t.work()
  expect(await ran.atLeast(3)).toEqual(['a', 'a', 'a'])
})

test('over its retries a job keeps its jid, its queue and its created_at', async () => {
  const t = bench()
  const J = t.hq.job('J', { queue: 'first', retry: 2, retryIn: () => 1 }, () => {
    throw new Error('no')
  })
  const jid = await J.performAsync()
  const [pushed] = await t.queue('first')
  await t.work({ queues: ['first'] })
  for (let n = 0; n < 2; n++) {
    await until(async () => (await t.set('retry'))[0]?.retry_count === n)
    expect((await t.set('retry'))[0]).toMatchObject({ jid, created_at: pushed?.created_at, queue: 'first' })
    t.clock.ahead += 100
  }
  await until(async () => (await t.set('dead')).length === 1)
  expect((await t.set('dead'))[0]).toMatchObject({ jid, created_at: pushed?.created_at, retry_count: 2 })
})
