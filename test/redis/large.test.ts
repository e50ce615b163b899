import { Highkiq } from 'highkiq'
import { Redis } from 'ioredis'
import { expect, type TestContext, test } from 'vitest'
import type { Settlement } from '#dist/store/contract.js'
import { openStore } from '#dist/store/open.js'
import { job, NOW, requestOf, retry } from '../conformance/bench.ts'
import { recorder } from '../engine/bench.ts'
import { startServer } from './server.ts'
import { onRedis } from './suite.ts'

/**
 * One step of the server stays short, however much the store holds. The tests read the server's own figures instead
 * of measuring time.
 */
onRedis('large queues and sets', () => {
  async function stage({ onTestFinished }: TestContext) {
    const server = await startServer()
    const redis = new Redis(server.url())
    const store = openStore(server.url())
    onTestFinished(async () => {
      redis.disconnect()
      await store.close()
      await server.remove()
    })
    const callsOf = async (command: string) => {
      const [, calls = '0'] = new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(await redis.info('commandstats')) ?? []
      return Number(calls)
    }
    return { redis, store, callsOf }
  }

  test('2,000 equal texts all stay in a set, and each is added with a few reads', async (context) => {
    const { redis, store, callsOf } = await stage(context)
    const count = 2000
    const text = job('the same')
    await redis.lpush('queue:q', ...Array.from({ length: count }, () => text))
    await store.workers.join('owner', { queues: ['q'], seconds: 600, host: 'here' })
    for (let left = count; left > 0; ) {
      const { fetched: taken } = await store.workers.settleAndFetch(
        'owner',
        requestOf({ fetch: { queues: ['q'], n: 200 } }),
      )
      const { settled } = await store.workers.settleAndFetch(
        'owner',
        requestOf({ settlements: taken.map((one) => retry(one, NOW)) }),
      )
      expect(settled.every((answer) => answer === 'ok')).toBe(true)
      left -= taken.length
    }
    const entries = await redis.zrange('retry', '0', '-1')
    expect(entries).toHaveLength(count)
    const [first] = entries
    for (const entry of entries) expect(JSON.parse(entry)).toEqual(JSON.parse(first ?? ''))
    expect(Math.max(...entries.map(({ length }) => length))).toBeLessThan((first?.length ?? 0) + 13)
    expect(await callsOf('zscore')).toBeLessThan(count * 30)
  })

  test('two steps at once fetch in the order in which they were sent, although the first one settles several megabytes', async (context) => {
    const { redis, store } = await stage(context)
    await store.workers.join('owner', { queues: ['q'], seconds: 600, host: 'here' })
    const large = Array.from({ length: 100 }, (_, n) => job(`large-${n}`, { args: ['x'.repeat(30_000)] }))
    await redis.lpush('queue:q', ...large)
    const fetch = (n: number, settlements: Settlement[] = []) =>
      store.workers.settleAndFetch('owner', requestOf({ settlements, fetch: { queues: ['q'], n } }))
    const { fetched } = await fetch(large.length)
    expect(fetched).toHaveLength(large.length)
    const small = Array.from({ length: 40 }, (_, n) => job(String(n)))
    await redis.lpush('queue:q', ...small)
    const [first, second] = await Promise.all([
      fetch(
        20,
        fetched.map((one) => retry(one, NOW)),
      ),
      fetch(20),
    ])
    expect(first.settled.every((answer) => answer === 'ok')).toBe(true)
    expect([...first.fetched, ...second.fetched].map(({ text }) => text)).toEqual(small)
  })

  const LENGTH = 250_000
  /** Fills a queue with jobs 1 to LENGTH; the last one is the newest. */
  const FILL = `for i = 1, ARGV[1] do redis.call('LPUSH', KEYS[1], string.format('{"class":"Do","jid":"%024d","args":[]}', i)) end`
  const jidOf = (n: number) => String(n).padStart(24, '0')
  const textOf = (n: number) => `{"class":"Do","jid":"${jidOf(n)}","args":[]}`

  test('a queue of 250,000 jobs is searched and changed in short steps', async (context) => {
    const { redis, store, callsOf } = await stage(context)
    const hq = new Highkiq({ store, logger: recorder() })
    await redis.eval(FILL, 1, 'queue:q', LENGTH)
    await redis.sadd('queues', 'q')
    const stepsOf = async (work: () => Promise<unknown>) => {
      const before = await callsOf('evalsha')
      await work()
      return (await callsOf('evalsha')) - before
    }

    // Each step reads 2,000 jobs.
    const looked = await stepsOf(async () => expect(await hq.cancel('unknown')).toBe('requested'))
    expect(looked).toBeLessThan(60)
    expect(
      await stepsOf(async () => expect(await hq.cancel('other', { budget: 60 })).toBe('not-found')),
    ).toBeGreaterThan(240)

    const found = await hq.queue('q').find(jidOf(LENGTH / 2))
    await redis.ltrim('queue:q', 0, -4001)
    expect(await found?.delete()).toBe(true)
    expect(await found?.delete()).toBe(false)
    const pull = (text: string, at?: string) => store.search.pull('q', [{ text, at, to: null }], NOW)
    const far = await stepsOf(async () => expect(await pull(textOf(120_000))).toEqual(['ok']))
    expect(far).toBeGreaterThan(50)
    const absent = await stepsOf(async () => expect(await pull('absent')).toEqual(['gone']))
    expect(absent).toBeGreaterThan(100)
    // A job that was near the end of the queue is known to be gone without reading the rest.
    expect(await stepsOf(async () => expect(await pull(textOf(4000), '3999')).toEqual(['gone']))).toBe(1)
    expect(await pull(textOf(4001), '4000')).toEqual(['ok'])
    expect(await redis.llen('queue:q')).toBe(LENGTH - 4000 - 3)
  })

  test('a transfer takes jobs behind 240,000 others without a search from the beginning of the queue', async (context) => {
    const { redis, store, callsOf } = await stage(context)
    await redis.eval(FILL, 1, 'queue:q', LENGTH)
    await redis.sadd('queues', 'q')
    const texts = Array.from({ length: 100 }, (_, n) => textOf(240_001 + n))
    const page = await store.transfers.hold('T', 'there', { queue: 'q', offset: 240_000, texts })
    expect(page?.jobs.map(({ text }) => text)).toEqual(texts)
    expect(await redis.llen('queue:q')).toBe(LENGTH - 100)
    expect(await callsOf('lpos')).toBe(0)
  })
})
