import { readFileSync } from 'node:fs'
import { iterate } from 'highkiq'
import { expect, test } from 'vitest'
import { MetricsCollector } from '#dist/metrics/collector.js'
import { Collector, gate, until } from '../engine/bench.ts'
import { onRedis } from '../redis/suite.ts'
import { wires } from './world.ts'

/** The traps around a job: figures, processes, the moving of due jobs, bulk pushes, iterations, garbage. */
onRedis('on Sidekiq’s wire, around the jobs', () => {
  const wire = wires()

  const payload = (more: Record<string, unknown> = {}) =>
    JSON.stringify({ class: 'J', args: [], jid: 'j'.repeat(24), queue: 'default', retry: true, ...more })

  test('29, 31: minutes are padded only in a minute’s key, and a class name may contain bars', async () => {
    // Ten minutes to nine, UTC, of a day and an hour with one digit.
    const t = wire({ clock: { now: () => Date.UTC(2025, 1, 4, 8, 5, 59) } })
    const ran = new Collector<number>()
    t.hq.job('My::Job|x', (_ctx, n: number) => {
      ran.add(n)
      if (n === 2) throw new Error('no')
    })
    for (const n of [1, 2]) await t.hq.push({ class: 'My::Job|x', args: [n], retry: false })
    const worker = await t.work()
    await ran.atLeast(2)
    await t.settled()
    await worker.stop()
    const keys = [...(await t.redis('KEYS', 'j|*')), ...(await t.redis('KEYS', 'h|*'))]
    expect(keys.sort()).toEqual(['h|My::Job|x-4-8:5', 'j|250204|8:0', 'j|250204|8:05'])
    const fields = await t.redis('HGETALL', 'j|250204|8:05')
    expect(fields[fields.indexOf('My::Job|x|p') + 1]).toBe('2')
    expect(fields[fields.indexOf('My::Job|x|f') + 1]).toBe('1')
    expect((await t.hq.metrics.top()).jobs).toMatchObject([{ name: 'My::Job|x', processed: 2, failed: 1 }])
  })

  test('30: twenty milliseconds belong to the bucket up to thirty, and a full bucket stays full', async () => {
    const t = wire()
    const at = Date.UTC(2025, 1, 4, 8, 5)
    const job = { class: 'J', args: [], queue: 'default', jid: 'j' }
    const collector = new MetricsCollector()
    for (const ms of [19.9, 20, 29.9, 30, 334_999, 335_000])
      collector.ended(job, { kind: 'done', result: null }, ms, at)
    await collector.flush(t.hq.store, () => at)
    const buckets = async () => {
      const wanted = Array.from({ length: 26 }, (_, i) => ['GET', 'u16', `#${i}`]).flat()
      return (await t.redis('BITFIELD_RO', 'h|J-4-8:5', ...wanted)).map(Number)
    }
    expect(await buckets()).toEqual([1, 2, 1, ...Array(21).fill(0), 1, 1])
    await t.redis('BITFIELD', 'h|J-4-8:5', 'SET', 'u16', '#1', 65_535)
    collector.ended(job, { kind: 'done', result: null }, 20, at)
    await collector.flush(t.hq.store, () => at)
    expect((await buckets()).slice(0, 3)).toEqual([1, 65_535, 1])
  })

  test('31: names with colons, dots and bars work as names of queues and classes', async () => {
    const t = wire()
    const ran = new Collector<string>()
    t.hq.job('My::Job|x', (ctx) => ran.add(ctx.queue))
    await t.hq.push({ class: 'My::Job|x', args: [], queue: 'a:b.c' })
    await t.work({ queues: ['a:b.c'] })
    expect(await ran.atLeast(1)).toEqual(['a:b.c'])
  })

  test('32: silent processes are removed at most once a minute, over all callers', async () => {
    const t = wire()
    await t.redis('SADD', 'processes', 'gone:1:aa', 'gone:2:bb')
    await t.redis('SET', 'process_cleanup', 1, 'EX', 60)
    for await (const _ of t.hq.processes());
    expect(await t.redis('SCARD', 'processes')).toEqual(['2'])
    await t.redis('DEL', 'process_cleanup')
    for await (const _ of t.hq.processes());
    await until(async () => (await t.redis('SCARD', 'processes'))[0] === '0')
    expect(Number(await t.redis('TTL', 'process_cleanup'))).toBeGreaterThan(50)
  })

  test('33: due jobs move at once with any number of processes, also by a process that has just started', async () => {
    const t = wire()
    for (let n = 0; n < 1000; n += 100) {
      await t.redis('SADD', 'processes', ...Array.from({ length: 100 }, (_, i) => `gone:${n + i}:aa`))
    }
    await t.redis('SET', 'process_cleanup', 1, 'EX', 60)
    await t.redis('ZADD', 'schedule', 1, payload({ jid: 'due' }))
    // As it is by itself: Sidekiq would wait for an hour or so.
    await t.work({ queues: ['other'], pollInterval: 1 })
    await until(async () => (await t.redis('LLEN', 'queue:default'))[0] === '1')
    await t.redis('ZADD', 'schedule', Date.now() / 1000 + 0.1, payload({ jid: 'soon' }))
    await until(async () => (await t.redis('LLEN', 'queue:default'))[0] === '2')
    expect(await t.redis('SCARD', 'processes')).toEqual(['1001'])
  })

  test('34: each due job is in its set until it is in its queue, and is moved once by several pollers', async () => {
    const t = wire()
    const other = t.another()
    const { opened, open } = gate()
    const asked = new Collector<string>()
    for (const { hq } of [t, other]) {
      hq.client.use(async (job, next) => {
        if (job.jid === 'slow') {
          asked.add(job.jid)
          await opened
        }
        return next()
      })
    }
    await t.redis('ZADD', 'schedule', 1, payload({ jid: 'slow' }), 2, payload({ jid: 'quick' }))
    await t.work({ queues: ['idle'] })
    await asked.atLeast(1)
    const waiting = await t.redis('ZRANGE', 'schedule', 0, -1)
    expect(waiting.map((text) => JSON.parse(text).jid)).toContain('slow')
    // Another program moves it meanwhile, as Ruby's poller would.
    const moved = other.hq.scheduled.find('slow').then((entry) => entry?.addToQueue())
    await asked.atLeast(2)
    open()
    await moved
    await until(async () => (await t.redis('ZCARD', 'schedule'))[0] === '0')
    const queued = await t.redis('LRANGE', 'queue:default', 0, -1)
    expect(queued.map((text) => JSON.parse(text).jid).sort()).toEqual(['quick', 'slow'])
  })
  test('35: bulk returns one id for each job, null for filtered ones; at has one time for each; spread is at least 5 s', async () => {
    const t = wire()
    t.hq.client.use((job, next) => (job.args[0] === 2 ? null : next()))
    const J = t.hq.job('J', (_ctx, _n: number) => {})
    const jids = await J.performBulk([[1], [2], [3]])
    expect(jids).toEqual([expect.any(String), null, expect.any(String)])
    const soon = Date.now() / 1000 + 1000
    await J.performBulk([[1], [2], [3]], { at: [soon, soon + 1, soon + 2] })
    expect((await t.redis('ZRANGE', 'schedule', 0, -1, 'WITHSCORES')).filter((_, i) => i % 2).map(Number)).toEqual([
      soon,
      soon + 2,
    ])
  })

  test('36: a number below 1e9 counts from now, from 1e9 on it is a time; a past time pushes at once', async () => {
    const t = wire()
    const J = t.hq.job('J', (_ctx, _when: string) => {})
    await J.performIn(-5, 'past')
    await J.performIn(1_000_000_000, 'past too')
    expect(await t.redis('LLEN', 'queue:default')).toEqual(['2'])
    await J.performIn(60, 'later')
    await J.performIn(4_000_000_000, 'much later')
    const scores = (await t.redis('ZRANGE', 'schedule', 0, -1, 'WITHSCORES')).filter((_, i) => i % 2).map(Number)
    expect(scores[0]).toBeGreaterThan(Date.now() / 1000 + 50)
    expect(scores[1]).toBe(4_000_000_000)
  })

  test('39: the stored cursor is that of the next item; the job is requeued unchanged, and its state keeps its first expiry', async () => {
    const t = wire()
    const { opened, open } = gate()
    const ran = new Collector<string>()
    t.hq.iterable('Items', {
      enumerate: (_ctx, cursor: number | null) => iterate.array(['a', 'b', 'c', 'd'], cursor),
      each: async (_ctx, item) => {
        ran.add(item)
        if (item === 'b') await opened
      },
    })
    const jid = String(await t.hq.push({ class: 'Items', args: [] }))
    const worker = await t.work()
    await ran.atLeast(2)
    const stopped = worker.stop()
    open()
    await stopped
    const state = await t.redis('HGETALL', `it-${jid}`)
    expect(state[state.indexOf('c') + 1]).toBe('2')
    expect(state[state.indexOf('ex') + 1]).toBe('1')
    const back = JSON.parse(await t.newest())
    expect(back).toMatchObject({ jid, class: 'Items', args: [] })
    expect(back).not.toHaveProperty('retry_count')
    const days30 = 2_592_000
    expect(Number(await t.redis('TTL', `it-${jid}`))).toBeGreaterThan(days30 - 60)
    await t.redis('EXPIRE', `it-${jid}`, 1000)
    await t.hq.store.jobs.saveIteration(jid, { executions: 1, runtime: 1, cursor: '2' }, Date.now())
    expect(Number(await t.redis('TTL', `it-${jid}`))).toBeLessThanOrEqual(1000)
    const again = t.another()
    again.hq.iterable('Items', {
      enumerate: (_ctx, cursor: number | null) => iterate.array(['a', 'b', 'c', 'd'], cursor),
      each: (_ctx, item) => ran.add(item),
    })
    await again.work()
    await until(async () => (await t.redis('EXISTS', `it-${jid}`))[0] === '0')
    expect(ran.all).toEqual(['a', 'b', 'c', 'd'])
  })

  test('39: a state with only a cancellation is valid', async () => {
    const t = wire()
    await t.redis('HSETNX', 'it-gone', 'cancelled', 1_723_900_000)
    expect(await t.hq.iteration('gone')).toMatchObject({ executions: 0, cursor: null, cancelled: expect.any(Date) })
    const ran = new Collector<string>()
    t.hq.iterable('Items', {
      enumerate: (_ctx, cursor: number | null) => iterate.array(['a'], cursor),
      each: (_ctx, item) => ran.add(item),
    })
    await t.redis('LPUSH', 'queue:default', payload({ class: 'Items', jid: 'gone' }))
    await t.work()
    await until(async () => (await t.redis('EXISTS', 'it-gone'))[0] === '0')
    expect(ran.all).toEqual([])
  })

  test('40: invalid data is shown, and throws no error', async () => {
    const t = wire()
    const garbage = ['no json', '[]', '{}', 'null', '{"class":1,"args":null}', '{"class":"X","args":"none","jid":5}']
    for (const [i, text] of garbage.entries()) {
      await t.redis('LPUSH', 'queue:default', text)
      for (const set of ['retry', 'schedule', 'dead']) await t.redis('ZADD', set, 4e9 + i, text)
    }
    await t.redis('SADD', 'queues', 'default')
    await t.redis('SADD', 'processes', 'a:1:b', 'c:2:d')
    await t.redis('HSET', 'a:1:b', 'info', 'no json', 'busy', 'x')
    await t.redis('HSET', 'a:1:b:work', 't1', 'no json', 't2', '{"queue":1}')
    let seen = 0
    for await (const job of t.hq.queue('default')) seen += String(job.text).length > 0 ? 1 : 0
    for (const set of [t.hq.retries, t.hq.scheduled, t.hq.dead]) {
      for await (const job of set)
        seen += typeof job.displayClass === 'string' && Array.isArray(job.displayArgs) ? 1 : 0
    }
    expect(seen).toBe(4 * garbage.length)
    for await (const process of t.hq.processes()) expect(process.identity).toMatch(/:/)
    for await (const running of t.hq.running()) expect(running.process).toBe('a:1:b')
    await t.hq.stats()
    expect(await t.hq.find('nothing')).toMatchObject({ state: 'unknown' })
  })
})

test('each of the forty traps has a test', () => {
  const files = ['traps.test.ts', 'traps-around.test.ts'].map((name) => new URL(name, import.meta.url))
  const names = files.flatMap((file) => [...readFileSync(file, 'utf8').matchAll(/^ {2}test\('([\d, ]+):/gm)])
  const numbers = new Set(names.flatMap(([, list = '']) => list.split(',').map(Number)))
  expect([...numbers].sort((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, i) => i + 1))
})
