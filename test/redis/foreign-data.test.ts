import { Highkiq } from 'highkiq'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { recorder } from '../engine/bench.ts'
import { EMPTY_STORE } from './census.ts'
import { type RedisServer, startServer } from './server.ts'
import { onRedis } from './suite.ts'

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

/** Data that other programs wrote into the same keys: Sidekiq in any version, and invalid data. */
onRedis('data of other programs', () => {
  let server: RedisServer
  let hq: Highkiq
  beforeAll(async () => {
    server = await startServer()
  })
  beforeEach(async () => {
    await server.ask('FLUSHALL')
    hq = new Highkiq({ url: server.url(), logger: recorder() })
    return () => hq.close()
  })
  afterAll(() => server.remove())

  const job = (n: number) => JSON.stringify({ class: 'RubyJob', args: [n], jid: `jid-${n}`, queue: 'default' })
  const ruby = async (identity: string, ...fields: string[]) => {
    await server.ask('SADD', 'processes', identity)
    if (fields.length > 0) await server.ask('HSET', identity, ...fields)
  }

  test.each(['[["succeeded",undefined,"J","default",1,1]]', '{}'])(
    "events that can't be read are missing, as after a trim: %s",
    async (events) => {
      const { newest } = await hq.store.events.record(null, hq.now())
      await server.ask('SET', 'hk:events:newest', String(newest + 1))
      await server.ask('XADD', 'hk:events', `${newest + 1}-0`, 'e', events, 't', '1')
      const options = { limit: 10, ms: 0, signal: new AbortController().signal }
      expect(await hq.store.events.read(newest, options, hq.now)).toBeNull()
      expect(await hq.store.events.read(newest + 1, options, hq.now)).toEqual([])
    },
  )

  test('running jobs of Ruby processes are listed, from any version; invalid fields are left out', async () => {
    await ruby('new:1', 'info', '{"version":"8.1.7"}', 'busy', '2', 'quiet', 'false', 'beat', '1779019200.5')
    await ruby('old:1', 'info', '{"concurrency":7,"weights":{"default":1}}', 'busy', '1', 'quiet', 'true')
    const work = (payload: unknown, more: object = {}) =>
      JSON.stringify({ queue: 'default', payload, run_at: 1779019200, ...more })
    await server.ask(
      'HSET',
      'new:1:work',
      'a',
      work(job(1)),
      'b',
      work('not json'),
      'c',
      'nonsense',
      'd',
      '5',
      'e',
      'null',
    )
    await server.ask('HSET', 'new:1:work', 'f', '{"queue":7,"payload":"{}","run_at":"soon"}', 'g', '{}')
    await server.ask('HSET', 'old:1:workers', 'a', work(JSON.parse(job(2))))
    const running = await all(hq.running())
    expect(running.map(({ process, thread, jid, queue }) => [process, thread, jid, queue]).sort()).toEqual([
      ['new:1', 'a', 'jid-1', 'default'],
      ['new:1', 'b', '', 'default'],
      ['new:1', 'f', '', ''],
      ['old:1', 'a', 'jid-2', 'default'],
    ])
    expect(running.find(({ jid }) => jid === 'jid-2')).toMatchObject({
      text: job(2),
      startedAt: new Date(1779019200_000),
    })
    expect(await all(hq.processes())).toMatchObject([
      { identity: 'new:1', busy: 2, version: '8.1.7', beat: new Date(1779019200_500) },
      { identity: 'old:1', busy: 1, concurrency: 7, isQuiet: true, weights: [{ default: 1 }] },
    ])
    expect(await hq.stats()).toMatchObject({ busy: 3, processes: 2 })
    expect(await hq.find('jid-2')).toMatchObject({ state: 'running', queue: 'default' })
  })

  test('one process a minute removes the names of dead processes, as in Sidekiq', async () => {
    await ruby('gone:1')
    await ruby('there:1', 'info', '{}')
    await server.ask('SET', 'process_cleanup', '1', 'EX', '60')
    expect(await all(hq.processes())).toMatchObject([{ identity: 'there:1' }])
    expect(await server.ask('SISMEMBER', 'processes', 'gone:1')).toEqual(['1'])
    await server.ask('DEL', 'process_cleanup')
    await all(hq.processes())
    expect(await server.ask('SMEMBERS', 'processes')).toEqual(['there:1'])
    expect(Number(await server.ask('TTL', 'process_cleanup'))).toBeGreaterThan(50)
  })

  test('the leader of Sidekiq Enterprise is returned', async () => {
    await ruby('a:1', 'info', '{}')
    await ruby('b:1', 'info', '{}')
    await server.ask('SET', 'dear-leader', 'b:1')
    expect((await all(hq.processes())).map(({ leader }) => leader)).toEqual([false, true])
  })

  test("a job that can't move stays where it is, and the log names the key of the wrong type once", async () => {
    const log = recorder()
    const app = new Highkiq({ url: server.url(), logger: log })
    onTestFinished(() => app.close())
    await server.ask('SET', 'queue:odd', 'what')
    await app.push({ class: 'J', args: [], queue: 'odd', at: Date.now() / 1000 + 60 })
    for (let n = 0; n < 3; n++) await app.scheduled.addAllToQueue().catch(() => {})
    expect(await app.scheduled.size()).toBe(1)
    expect(log.lines.filter(({ level }) => level === 'warn')).toEqual([
      {
        level: 'warn',
        about: { store: app.store.url },
        message: 'WRONGTYPE the key queue:odd holds a value of another type',
      },
    ])
  })

  test.each(['constructor', '__proto__'])('a queue with the name %s has a size', async (queue) => {
    await hq.push({ class: 'J', args: [], queue })
    expect(await hq.queueSummaries()).toMatchObject([{ name: queue, size: 1, limited: 0 }])
  })

  test('a process whose description has values of wrong types is listed without them', async () => {
    const odd = '{"toString":1}'
    const info = `{"labels":[${odd},"a"],"queues":[${odd},"b"],"pid":${odd},"started_at":1e300,"ordered_concurrency":${odd}}`
    await ruby('odd:1', 'info', info)
    const [process] = await all(hq.processes())
    expect(process).toMatchObject({ labels: ['a'], queues: ['b'], pid: 0, orderedConcurrency: 0 })
    expect(() => process?.startedAt.toISOString()).not.toThrow()
  })

  test('a queue or process whose key has the wrong type hides only itself', async () => {
    await server.ask('SADD', 'queues', 'default', 'odd')
    await server.ask('LPUSH', 'queue:default', job(1))
    await server.ask('SET', 'queue:odd', 'what')
    await ruby('a:1', 'info', '{}')
    await server.ask('SADD', 'processes', 'odd:1')
    await server.ask('SET', 'odd:1', 'what')
    await server.ask('SET', 'a:1:work', 'what')
    expect(await hq.queueSummaries()).toMatchObject([
      { name: 'default', size: 1 },
      { name: 'odd', size: 0, latency: 0 },
    ])
    expect(await all(hq.processes())).toMatchObject([{ identity: 'a:1' }])
    expect(await all(hq.running())).toEqual([])
    expect(await hq.find('jid-1')).toMatchObject({ state: 'queued' })
    expect(await hq.stats()).toMatchObject({ enqueued: 1 })
    expect(await hq.queue('odd').size()).toBe(0)
    await expect(hq.queue('odd').page()).rejects.toMatchObject({ code: 'STORE_UNUSABLE' })
  })

  test('a job that is not valid UTF-8 is listed, and removed by its exact bytes', async () => {
    for (const [command, ...rest] of [
      ['RPUSH', 'queue:default'],
      ['ZADD', 'dead', '5'],
    ] as const) {
      await server.ask(
        'EVAL',
        `redis.call('${command}', ${[...rest.map((one) => `'${one}'`), '"{\\"class\\":\\"A\\",\\"args\\":[\\"\\255\\"],\\"jid\\":\\"x\\"}"'].join(', ')})`,
        '0',
      )
    }
    const [queued] = (await hq.queue('default').page()).items
    expect(queued).toMatchObject({ class: 'A', args: ['\ufffd'] })
    expect(await queued?.delete()).toBe(true)
    const dead = await hq.dead.find('x')
    expect(await dead?.delete()).toBe(true)
    expect(await hq.stats()).toMatchObject({ enqueued: 0, dead: 0 })
  })

  test('clearing removes all keys of jobs, as in Sidekiq', async () => {
    await hq.push({ class: 'A', args: [] })
    await hq.push({ class: 'A', args: [], at: 4e9 })
    expect([await hq.queue('default').clear(), await hq.scheduled.clear()]).toEqual([1, 1])
    expect((await server.ask('KEYS', '*')).sort()).toEqual(EMPTY_STORE)
  })

  test('jobs of a server at its memory limit can be deleted, killed and cleared', async () => {
    for (let n = 0; n < 20; n++) await hq.push({ class: 'A', args: [n, 'x'.repeat(1000)] })
    for (let n = 0; n < 20; n++) await hq.push({ class: 'A', args: [n, 'x'.repeat(1000)], at: 4e9 })
    await server.ask('CONFIG', 'SET', 'maxmemory', '1')
    try {
      await expect(hq.push({ class: 'A', args: [] })).rejects.toMatchObject({ code: 'PUSH_FAILED' })
      const [first] = (await hq.queue('default').page()).items
      expect(await first?.delete()).toBe(true)
      expect(await hq.scheduled.killAll()).toEqual({ done: 20, refused: 0 })
      expect(await hq.dead.retryAll()).toEqual({ done: 20, refused: 0 })
      expect(await hq.queue('default').clear()).toBe(39)
    } finally {
      await server.ask('CONFIG', 'SET', 'maxmemory', '0')
    }
  })
})
