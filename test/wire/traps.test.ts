import { inflateSync } from 'node:zlib'
import { Discard, type JobOptions } from 'highkiq'
import { expect, test } from 'vitest'
import { Collector, until } from '../engine/bench.ts'
import { onRedis } from '../redis/suite.ts'
import { type Wire, wires } from './world.ts'

/**
 * Forty things that are easily got wrong beside Sidekiq, each as it shows in Redis. Their numbers are those of the list
 * that this project was designed by.
 */
onRedis('on Sidekiq’s wire', () => {
  const wire = wires()
  const NOW = 1_700_000_000_000
  const atNow = { clock: { now: () => NOW } }

  /** A job of class J that fails, pushed as this text; answers when it has settled. */
  async function fails(t: Wire, text: string, options: JobOptions = {}, thrown: unknown = new Error('no')) {
    const deaths: unknown[] = []
    t.hq.onDeath((payload) => deaths.push(payload.jid))
    const ran = new Collector<number>()
    t.hq.job('J', options, (ctx) => {
      ran.add(ctx.attempt)
      throw thrown
    })
    await t.redis('LPUSH', 'queue:default', text)
    await t.redis('SADD', 'queues', 'default')
    await t.work()
    await ran.atLeast(1)
    await t.settled()
    const [retry] = await t.redis('ZRANGE', 'retry', 0, -1)
    const [dead] = await t.redis('ZRANGE', 'dead', 0, -1)
    return { deaths, retry, dead, job: JSON.parse(retry ?? dead ?? '{}') }
  }
  const payload = (more: Record<string, unknown> = {}) =>
    JSON.stringify({ class: 'J', args: [], jid: 'j'.repeat(24), queue: 'default', retry: true, ...more })

  test('1: the first failure has retry_count 0, and 0 is a count', async () => {
    expect((await fails(wire(), payload())).job.retry_count).toBe(0)
    expect((await fails(wire(), payload({ retry_count: 0, failed_at: NOW }))).job.retry_count).toBe(1)
  })

  test('2: after a retry by hand (-1) the next failure is 0, with retried_at and the old failed_at', async () => {
    const { job } = await fails(wire(atNow), payload({ retry_count: -1, failed_at: NOW - 5000 }))
    expect(job).toMatchObject({ retry_count: 0, retried_at: NOW, failed_at: NOW - 5000 })
  })

  test('3: retry 0 is the dead set, false is nothing, null is the job’s own option', async () => {
    expect(await fails(wire(), payload({ retry: 0 }))).toMatchObject({ dead: expect.any(String), deaths: [/j+/] })
    expect(await fails(wire(), payload({ retry: false }))).toMatchObject({ dead: undefined, deaths: [/j+/] })
    expect(await fails(wire(), payload({ retry: null }), { retry: 0 })).toMatchObject({ dead: expect.any(String) })
  })

  test('4: retry N is N + 1 executions', async () => {
    const t = wire()
    const ran = new Collector<number>()
    const J = t.hq.job('J', { retry: 2 }, (ctx) => {
      ran.add(ctx.attempt)
      throw new Error('no')
    })
    await J.performAsync()
    await t.work()
    for (let n = 1; n <= 3; n++) {
      await ran.atLeast(n)
      await until(async () => n === 3 || (await t.redis('ZCARD', 'retry'))[0] === '1')
      t.clock.ahead += 1000
    }
    await until(async () => (await t.redis('ZCARD', 'dead'))[0] === '1')
    expect(ran.all).toEqual([1, 2, 3])
  })

  test('5: death handlers are called for retry: false, dead: false and discarded jobs, not for invalid JSON', async () => {
    expect((await fails(wire(), payload({ retry: false }))).deaths).toHaveLength(1)
    expect((await fails(wire(), payload({ retry: 0, dead: false }))).deaths).toHaveLength(1)
    expect((await fails(wire(), payload(), { retryIn: () => 'discard' })).deaths).toHaveLength(1)
    expect((await fails(wire(), payload(), {}, new Discard())).deaths).toHaveLength(1)
    const t = wire()
    const deaths: unknown[] = []
    t.hq.onDeath((job) => deaths.push(job))
    await t.redis('LPUSH', 'queue:default', '{"class":')
    await t.work()
    await until(async () => (await t.redis('ZCARD', 'dead'))[0] === '1')
    expect(await t.redis('ZRANGE', 'dead', 0, -1)).toEqual(['{"class":'])
    expect(deaths).toEqual([])
    expect(await t.hq.stats()).toMatchObject({ processed: 0, failed: 0 })
  })

  test('6: onExhausted is called when retryIn kills, not when it discards', async () => {
    const asked: string[] = []
    const onExhausted = (job: { jid: string }) => void asked.push(job.jid)
    await fails(wire(), payload({ jid: 'a' }), { retryIn: () => 'discard', onExhausted })
    await fails(wire(), payload({ jid: 'b' }), { retryIn: () => 'kill', onExhausted })
    expect(asked).toEqual(['b'])
  })

  test('7: jitter is added to the default delay and grows with the count; a custom delay is exact', async () => {
    const delay = async (count: number, options: JobOptions = {}) => {
      const t = wire({ ...atNow, random: () => 0.99 })
      await fails(t, payload(count < 0 ? {} : { retry_count: count, failed_at: NOW }), options)
      const [, score] = await t.redis('ZRANGE', 'retry', 0, -1, 'WITHSCORES')
      return Number(score) - NOW / 1000
    }
    expect(await delay(-1)).toBe(15 + 9)
    expect(await delay(-1, { retryIn: () => 100 })).toBe(100)
    expect(await delay(-1, { retryIn: () => ({ seconds: 100, jitter: true }) })).toBe(100 + 9)
    expect(await delay(1)).toBe(2 ** 4 + 15 + 29)
  })

  test('8: after a failure queue is the queue it was fetched from, or retry_queue', async () => {
    expect((await fails(wire(), payload({ queue: 'elsewhere' }))).job.queue).toBe('default')
    expect((await fails(wire(), payload({ retry_queue: 'low' }))).job.queue).toBe('low')
  })

  test('9: a retry stores the fetched text, without changes by middleware', async () => {
    const t = wire()
    t.hq.server.use((ctx, next) => {
      ctx.args = ['changed']
      ;(ctx.payload.args as unknown[]).push('mutated')
      return next()
    })
    expect((await fails(t, payload({ args: [1] }))).job.args).toEqual([1])
  })

  test('10, 11: a due job passes the client middleware again; the result is pushed, and a filtered job is gone', async () => {
    const t = wire()
    const ran = new Collector<unknown>()
    t.hq.job('J', (_ctx, ...args) => ran.add(args))
    t.hq.client.use((job, next) => (job.jid === 'drop' ? null : next()))
    t.hq.client.use(async (_job, next) => {
      const job = await next()
      return job && { ...job, args: [...job.args, 'seen'] }
    })
    await t.redis('ZADD', 'retry', 1, payload({ jid: 'drop' }), 2, payload({ jid: 'keep', retry_count: 0 }))
    await t.work()
    expect(await ran.atLeast(1)).toEqual([['seen']])
    expect(await t.redis('ZCARD', 'retry')).toEqual(['0'])
  })

  test('12: created_at stays, enqueued_at changes at each push, is not in schedule, and is stale in retry', async () => {
    const t = wire()
    await t.hq.push({ class: 'J', args: [], at: Date.now() / 1000 + 100, created_at: 7 })
    const [scheduled] = await t.redis('ZRANGE', 'schedule', 0, -1)
    expect(JSON.parse(scheduled ?? '')).not.toHaveProperty('enqueued_at')
    expect(JSON.parse(scheduled ?? '')).not.toHaveProperty('at')
    expect(JSON.parse(scheduled ?? '').created_at).toBe(7)
    expect((await fails(wire(), payload({ created_at: 7, enqueued_at: 8 }))).job).toMatchObject({
      created_at: 7,
      enqueued_at: 8,
    })
    const due = wire()
    await due.redis('ZADD', 'schedule', 1, payload({ enqueued_at: 8, created_at: 7, at: 1 }))
    await due.work({ queues: ['other'] })
    await until(async () => (await due.redis('LLEN', 'queue:default'))[0] === '1')
    const job = JSON.parse(await due.newest())
    expect(job.created_at).toBe(7)
    expect(job.enqueued_at).toBeGreaterThan(NOW)
    expect(job).not.toHaveProperty('at')
  })

  test('13: a float stays a float', async () => {
    const { retry } = await fails(wire(), payload().replace('"args"', '"created_at":1700000000.0,"args"'))
    expect(retry).toContain('"created_at":1700000000.0,')
  })

  test('14: integers beyond 2^53 arrive, and stay', async () => {
    const t = wire()
    const ran = new Collector<unknown>()
    t.hq.job('Id', (_ctx, id) => ran.add(id))
    await t.redis('LPUSH', 'queue:default', '{"class":"Id","args":[12345678901234567890],"jid":"1"}')
    await t.work()
    expect(await ran.atLeast(1)).toEqual([12345678901234567890n])
    expect((await fails(wire(), payload().replace('[]', '[12345678901234567890]'))).retry).toContain(
      '[12345678901234567890]',
    )
  })

  test('15: keys keep their order, also those that look like numbers; NaN is refused', async () => {
    const strange = '"meta":{"b":1,"1":2,"__proto__":{"x":1}},"9":9,"__proto__":{"y":2},"args"'
    const { retry } = await fails(wire(), payload().replace('"args"', strange))
    expect(retry).toContain(strange)
    await expect(wire().hq.push({ class: 'J', args: [{ a: Number.NaN }] })).rejects.toMatchObject({
      code: 'INVALID_ARGS',
    })
  })

  test('16: our JSON stays the same when Ruby parses and writes it: no spaces, no needless escapes', async () => {
    const t = wire()
    await t.hq.push({ class: 'J', args: ['a/b', 'é\u2028', 1.5, { k: [true, null] }] })
    expect(await t.newest()).toContain('"args":["a/b","é\u2028",1.5,{"k":[true,null]}]')
  })

  test('17, 18: an entry is found by its exact score, and among several with one score the right one is removed', async () => {
    const t = wire()
    const score = 1723900000.1234567
    for (const jid of ['a', 'b', 'c']) await t.redis('ZADD', 'dead', score, payload({ jid }))
    await (await t.hq.dead.find('b'))?.delete()
    const left = await t.redis('ZRANGE', 'dead', 0, -1)
    expect(left.map((text) => JSON.parse(text).jid)).toEqual(['a', 'c'])
    expect((await t.redis('ZRANGE', 'dead', 0, 0, 'WITHSCORES'))[1]).toBe('1723900000.1234567')
  })

  test('19: jobs are pushed at the head, fetched from the tail, and requeued at the tail', async () => {
    const t = wire()
    const ran = new Collector<string>()
    t.hq.job('J', async (ctx, name: string) => {
      ran.add(name)
      if (name === 'b') await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
      ctx.signal.throwIfAborted()
    })
    for (const name of ['a', 'b', 'c']) await t.hq.push({ class: 'J', args: [name] })
    expect(JSON.parse(await t.newest()).args).toEqual(['c'])
    const worker = await t.work({ concurrency: 1, timeout: 0.001 })
    await ran.atLeast(2)
    await worker.stop()
    const queue = await t.redis('LRANGE', 'queue:default', 0, -1)
    expect(queue.map((text) => JSON.parse(text).args[0])).toEqual(['c', 'b'])
  })

  test('20: an idle worker never pops a job into its connection, where a crash would lose it', async () => {
    const t = wire()
    const worker = await t.work()
    const commands = await t.redis('INFO', 'commandstats')
    await worker.stop()
    expect(commands.join()).not.toMatch(/cmdstat_b[lr]pop:|cmdstat_blmpop:/)
  })

  test('21: one weight makes the whole list weighted, and each queue is asked once', async () => {
    const t = wire()
    expect(t.hq.worker({ queues: ['a', 'b,2', 'a'] }).options.queues).toHaveLength(3)
    const ran = new Collector<string>()
    t.hq.job('J', (ctx) => ran.add(ctx.queue))
    for (const queue of ['a', 'b']) {
      await t.hq.push({ class: 'J', args: [], queue })
    }
    await t.work({ queues: ['a', 'b,2', 'a'] })
    expect((await ran.atLeast(2)).sort()).toEqual(['a', 'b'])
  })

  test('22, 23: a stop requeues unfinished jobs once, and the process keeps none', async () => {
    const t = wire()
    const ran = new Collector<unknown>()
    t.hq.job('Endless', () => {
      ran.add(1)
      return new Promise(() => {})
    })
    for (let i = 0; i < 3; i++) await t.hq.push({ class: 'Endless', args: [i] })
    const worker = await t.work({ concurrency: 3, timeout: 0.001 })
    await ran.atLeast(3)
    await worker.stop()
    const queue = await t.redis('LRANGE', 'queue:default', 0, -1)
    expect(queue.map((text) => JSON.parse(text).args[0])).toEqual([2, 1, 0])
    expect((await t.redis('KEYS', 'hk:*working*')).length).toBe(0)
    expect(await t.hq.stats()).toMatchObject({ processed: 0, failed: 0, busy: 0 })
  })

  test('24: a shutdown hidden among the causes is still a shutdown', async () => {
    const t = wire()
    const ran = new Collector<unknown>()
    t.hq.job('Wraps', async (ctx) => {
      ran.add(1)
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
      const inner = new Error('inner', { cause: ctx.signal.reason })
      const outer = new Error('outer', { cause: inner })
      throw outer
    })
    await t.hq.push({ class: 'Wraps', args: [] })
    const worker = await t.work({ timeout: 0.001 })
    await ran.atLeast(1)
    await worker.stop()
    expect(await t.redis('LLEN', 'queue:default')).toEqual(['1'])
    expect(await t.redis('ZCARD', 'retry')).toEqual(['0'])
  })

  test('25, 38: a heartbeat lists running jobs as JSON inside JSON, with whole seconds, for a minute; an idle process has no such key', async () => {
    const t = wire()
    const ran = new Collector<unknown>()
    let end = () => {}
    t.hq.job('J', () => {
      ran.add(1)
      return new Promise<void>((resolve) => {
        end = resolve
      })
    })
    const jid = await t.hq.push({ class: 'J', args: [] })
    const worker = await t.work()
    expect(await t.redis('EXISTS', `${worker.identity}:work`)).toEqual(['0'])
    await ran.atLeast(1)
    await worker.quiet()
    const [, shown] = await t.redis('HGETALL', `${worker.identity}:work`)
    const work = JSON.parse(shown ?? '')
    expect(work).toMatchObject({ queue: 'default', payload: expect.any(String), run_at: expect.any(Number) })
    expect(Number.isInteger(work.run_at)).toBe(true)
    expect(JSON.parse(work.payload).jid).toBe(jid)
    for (const key of [worker.identity, `${worker.identity}:work`]) {
      expect(Number(await t.redis('TTL', key))).toBeGreaterThan(50)
      expect(Number(await t.redis('TTL', key))).toBeLessThanOrEqual(60)
    }
    end()
  })

  test('25: one signal is obeyed with each beat', async () => {
    const t = wire()
    const worker = await t.work()
    await t.redis('LPUSH', `${worker.identity}-signals`, 'TSTP')
    await t.redis('LPUSH', `${worker.identity}-signals`, 'TERM')
    await t.hq.store.workers.heartbeat(
      { identity: worker.identity, info: '{}', concurrency: 1, busy: 0, beat: 0, quiet: false, rss: 0 },
      60,
    )
    expect(await t.redis('LRANGE', `${worker.identity}-signals`, 0, -1)).toEqual(['TERM'])
  })

  test('26: after a clean stop the process is not listed, and none of its keys is left', async () => {
    const t = wire()
    const worker = await t.work()
    await worker.stop()
    expect(await t.redis('SMEMBERS', 'processes')).toEqual([])
    expect(await t.redis('EXISTS', `${worker.identity}:work`)).toEqual(['0'])
  })

  test('27: failures count as processed, too; interruptions count as nothing', async () => {
    const t = wire()
    await fails(t, payload())
    expect(await t.redis('MGET', 'stat:processed', 'stat:failed')).toEqual(['1', '1'])
  })

  test('28: the dead set keeps its newest entries, and none that is too old', async () => {
    const t = wire({ dead: { max: 3, seconds: 100 } })
    const now = Date.now() / 1000
    await t.redis('ZADD', 'dead', now - 200, 'old', now - 3, 'a', now - 2, 'b', now - 1, 'c', now, 'd')
    await t.work()
    await until(async () => (await t.redis('ZCARD', 'dead'))[0] === '3')
    expect(await t.redis('ZRANGE', 'dead', 0, -1)).toEqual(['b', 'c', 'd'])
  })

  test('37: the message has at most 10,000 whole characters; the backtrace is deflated in base64', async () => {
    const { job } = await fails(wire(), payload({ backtrace: 2 }), {}, new Error('😀'.repeat(10_001)))
    expect([...job.error_message]).toHaveLength(10_000)
    const lines = JSON.parse(inflateSync(Buffer.from(job.error_backtrace, 'base64')).toString())
    expect(lines).toHaveLength(2)
    expect(lines[0]).toMatch(/^at /)
  })
})
