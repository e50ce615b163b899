import { BusinessFailure } from 'highkiq'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { PushItem } from '#dist/store/contract.js'
import { job, NOW, requestOf, toQueue } from '../conformance/bench.ts'
import { change, jidOf, rows, spec, taskId } from '../conformance/tasks/tracked.ts'
import { bench, Collector, gate, until } from '../engine/bench.ts'
import { contents, faultsOf, locationsOf } from './census.ts'
import { type RedisServer, startServer } from './server.ts'
import { onRedis } from './suite.ts'

/** A server whose memory is used up, and that evicts no keys: it refuses commands that need memory. */
onRedis('a server without memory', () => {
  let server: RedisServer
  let redis: Redis
  let database = 0
  beforeAll(async () => {
    server = await startServer({ databases: 100, 'maxmemory-policy': 'noeviction' })
  })
  beforeEach(() => {
    redis = new Redis(server.url(++database))
  })
  afterEach(async () => {
    await free()
    redis.disconnect()
  })
  afterAll(() => server.remove())

  /** Uses up all memory, and keeps it used whatever is removed. */
  const choke = () => redis.config('SET', 'maxmemory', '1')
  const free = () => redis.config('SET', 'maxmemory', '0')
  const app = (url = server.url(database)) => bench({ url })
  const full = { code: 'STORE_FULL', message: expect.stringContaining('maxmemory') }

  /** Fills the memory with smaller and smaller texts until the server refuses the smallest. */
  async function fill(): Promise<void> {
    // Garbage of scripts would be collected during the test, and make room.
    await redis.eval("collectgarbage('collect') collectgarbage('stop')", 0)
    const [, used = '0'] = /used_memory:(\d+)/.exec(await redis.info('memory')) ?? []
    await redis.config('SET', 'maxmemory', String(Number(used) + 4_000_000))
    for (let bytes = 2 ** 18, n = 0; bytes >= 1; ) {
      const stored = await redis.set(`filler:${++n}`, 'x'.repeat(bytes)).catch((thrown: Error) => thrown.message)
      if (stored !== 'OK') bytes = bytes === 1 ? 0 : Math.ceil(bytes / 8)
    }
    // The buffers of connections shrink by themselves and would make room as well.
    await redis.config('SET', 'maxmemory', String(Number(used) + 2_000_000))
  }

  test('the list of processes leaves out one that has ended', async () => {
    const { hq } = app()
    await hq.store.open()
    await redis.sadd('processes', 'gone:1')
    await choke()
    expect(await hq.store.workers.processes()).toEqual([])
  })

  test('a process is listed with its running jobs, and gets its signals', async () => {
    const { workers } = app().hq.store
    await workers.heartbeat(process1, 60)
    await choke()
    const { identity } = process1
    expect(await workers.signal(identity, 'TSTP')).toBe(true)
    const running = (slot: string) => ({ slot, queue: 'q', text: job(1), startedAt: NOW })
    const beat = workers.heartbeat({ ...process1, busy: 1 }, 60, [running('a'), running('b')])
    expect(await beat).toMatchObject({ known: true, signal: 'TSTP' })
    expect(await workers.heartbeat({ ...process1, identity: 'here:2:b' }, 60)).toMatchObject({ known: false })
    await workers.showRunning(identity, 60, [running('c')], ['a'])
    expect(await workers.processes()).toMatchObject([{ identity, busy: 1 }, { identity: 'here:2:b' }])
    expect((await workers.running()).map(({ slot }) => slot).sort()).toEqual(['b', 'c'])
    for (const key of [identity, `${identity}:work`]) expect(await redis.ttl(key)).toBeGreaterThan(50)
  })

  test('jobs that wait for room in a limit run, and a check of a limit can be postponed', async () => {
    const { hq, work } = app()
    const ran = new Collector<number>()
    const one = hq.limit('one', { concurrency: 1 })
    const Limited = hq.job('Limited', { limit: one }, async (_ctx, n: number) => {
      await new Promise((resolve) => setImmediate(resolve))
      ran.add(n)
    })
    await Limited.performBulk([1, 2, 3, 4].map((n): [number] => [n]))
    await choke()
    // The worker lists itself for the first time.
    await work({ leaseSeconds: 1 })
    await ran.atLeast(4)
    expect(await hq.store.limits.postpone(['one'], 0)).toBeUndefined()
    await workedOff()
    expect([...ran.all].sort()).toEqual([1, 2, 3, 4])
  })

  test('a push meets STORE_FULL, rejects and stores nothing', async () => {
    const { hq } = app()
    const { store } = hq
    await store.open()
    await store.tasks.create(spec(1))
    await store.tasks.addRows(spec(1).id, spec(1).producer, 0, rows(0, 5), NOW)
    const row = { text: JSON.stringify({ jid: jidOf(spec(1).id, 0), hk_run: 1 }) }
    const effects = [change(row, { status: 'enqueued', window: 'enter' })]
    const queued = toQueue('q', job(1))
    const scheduled = { to: 'schedule', text: job(2), score: NOW } as const
    const pushes: [string, PushItem[]][] = [
      ['to a queue', [queued]],
      ['of a thousand', Array.from({ length: 1000 }, (_, n) => toQueue('q', job(n)))],
      ['to a set', [scheduled]],
      ['here and there', [queued, scheduled]],
      ['of a row', [{ ...toQueue('q', row.text), effects }]],
      ['of a row to a set', [{ to: 'dead', text: row.text, score: NOW, effects }]],
    ]
    await store.crons.define('nightly', { old: null, text: 'x', tick: 1 }, 60)
    const tick = { text: 'x', from: 1, to: 2, push: { jid: 'jid-2', item: queued, lock: 'l' } }
    for (const squeeze of [fill, choke]) {
      await squeeze()
      const before = await contents(redis)
      for (const [what, items] of pushes) {
        const error = await store.jobs.push(items, NOW).then(
          () => 'stored',
          (thrown) => thrown,
        )
        expect.soft(error, what).toMatchObject({ ...full, code: 'PUSH_FAILED', maybePushed: false })
      }
      const adding = store.tasks.addRows(spec(1).id, spec(1).producer, 5, rows(5, 5), NOW)
      await expect.soft(adding, 'rows').rejects.toMatchObject(full)
      await expect.soft(store.tasks.create(spec(2)), 'a task').rejects.toMatchObject(full)
      const message = store.tasks.addMessage(jidOf(spec(1).id, 0), { at: NOW, code: 'hi', params: {} })
      await expect.soft(message, 'a message').rejects.toMatchObject(full)
      const told = { code: 'PUSH_FAILED', maybePushed: false, jids: ['jid-2'], cause: expect.objectContaining(full) }
      await expect.soft(store.crons.tick('nightly', tick, NOW), 'a tick').rejects.toMatchObject(told)
      expect(await contents(redis)).toEqual(before)
    }
    await free()
    for (const [, items] of pushes.slice(0, 4)) await store.jobs.push(items, NOW)
    expect(await store.tasks.addRows(spec(1).id, spec(1).producer, 5, rows(5, 5), NOW)).toEqual({ ok: true, total: 10 })
    expect(await store.tasks.create(spec(2))).toBe(true)
    expect(await store.crons.tick('nightly', tick, NOW)).toBe('ok')
    expect(await store.metrics.totals()).toMatchObject({ enqueued: 3 + 1003, scheduled: 2, backlog: 7 })
  })

  test('a task can be paused and cancelled to its end, but gets no more rows', async () => {
    const { hq } = app()
    const { store } = hq
    const { id, producer } = spec(1)
    await store.workers.join(producer, { queues: ['q'], seconds: 60, host: 'here' })
    await store.tasks.create(spec(1))
    const bad = { args: '[9]', rejected: { status: 'failed' as const, messages: [] } }
    await store.tasks.addRows(id, producer, 0, [...rows(0, 30), bad], NOW)
    await store.tasks.create(spec(2))
    await store.tasks.addRows(spec(2).id, producer, 0, [bad], NOW)
    await store.tasks.startRun(spec(2).id, 1, producer, NOW)
    for (const squeeze of [fill, choke]) {
      await squeeze()
      const before = await contents(redis)
      await expect.soft(store.tasks.openAdding(id, 'other', NOW), 'a producer').rejects.toMatchObject(full)
      await expect.soft(store.tasks.startRun(id, 1, 'other', NOW), 'a run').rejects.toMatchObject(full)
      await expect.soft(store.tasks.retryRows(spec(2).id, 2, [{ index: 0 }], NOW), 'a row').rejects.toMatchObject(full)
      await expect.soft(store.tasks.putPart(id, 0, new Uint8Array(9), 99), 'a part').rejects.toMatchObject(full)
      await expect.soft(store.results.remember('k', 'v', 60), 'a value').rejects.toMatchObject(full)
      const item = toQueue('q', job(1))
      const tracked = store.tasks.pushTracked([{ task: spec(3, { single: true }), item }], NOW)
      await expect.soft(tracked, 'a tracked job').rejects.toMatchObject({ code: 'PUSH_FAILED', maybePushed: false })
      expect(await contents(redis)).toEqual(before)
    }
    expect(await store.tasks.change(id, { paused: true }, NOW)).toBe('ok')
    expect(await store.tasks.find(id)).toMatchObject({ state: 'paused' })
    expect(await store.tasks.leaveWindow(id, [0], NOW)).toBeUndefined()
    expect(await store.tasks.cancel(id, null, NOW)).toBe('ok')
    let cancelled = 0
    for (let done = false; !done; ) {
      const answer = await store.tasks.cancelRows(id, 8, NOW)
      cancelled += answer.cancelled
      done = answer.done
    }
    expect(cancelled).toBe(30)
    expect(await store.tasks.find(id)).toMatchObject({ state: 'cancelled', backlog: 0, inWindow: 0 })
    expect(await store.tasks.delete(id, 100)).toBe(true)
    await free()
    expect(faultsOf(await contents(redis))).toEqual([])
  })

  test('a batch can be cancelled, with the job that waits for it', async () => {
    const { store } = app().hq
    const [outer, inner] = [taskId(1), taskId(2)]
    const text = '{"class":"J","args":[],"jid":"parent"}'
    const waiting = { jid: 'parent', queue: 'q', text, onChildFailure: 'fail', failure: '"error_class":"E"' } as const
    const about = { meta: '{}', onComplete: null, onSuccess: null, onDeath: null, keep: 60_000, createdAt: NOW }
    await store.batches.push(
      {
        batches: [
          { bid: outer, parent: null, job: null, ...about },
          { bid: inner, parent: outer, job: waiting, ...about },
        ],
        members: [
          { bid: outer, id: 'parent', item: null },
          { bid: inner, id: 'child', item: toQueue('q', job(1)) },
        ],
      },
      NOW,
    )
    await choke()
    expect(await store.batches.cancel(inner, NOW)).toBe(true)
    expect(await store.batches.find(inner)).toMatchObject({ cancelling: true, job: null, pending: 1 })
    expect(await store.batches.find(outer)).toMatchObject({ pending: 0, failed: 1 })
  })

  test('a cron entry can be paused, resumed and defined again, and a lock can be released', async () => {
    const { hq } = app()
    const { store } = hq
    const owner = { queues: ['q'], seconds: 60, host: 'here' }
    await store.workers.join('A', owner)
    await store.crons.define('nightly', { old: null, text: 'x', tick: 1 }, 0.1)
    const push = { jid: 'jid-2', item: toQueue('q', job(1)), lock: 'l' }
    await store.crons.tick('nightly', { text: 'x', from: 1, to: 2, push }, NOW)
    await choke()
    expect(await store.crons.define('nightly', { old: 'x', text: 'x', tick: null }, 60)).toBe(true)
    expect(await store.crons.pause('nightly', true, NOW)).toBe(true)
    expect(await store.crons.list()).toMatchObject([{ paused: true, alive: true }])
    expect(await store.crons.pause('nightly', false, NOW)).toBe(true)
    const { fetched: taken } = await store.workers.settleAndFetch('A', requestOf({ fetch: { queues: ['q'], n: 1 } }))
    const effects = [{ kind: 'release-lock', lock: 'l', holder: 'jid-2' } as const]
    const settlements = taken.map(({ queue, ticket }) => {
      return { queue, ticket, move: null, processed: 1 as const, failed: 0 as const, effects }
    })
    expect((await store.workers.settleAndFetch('A', requestOf({ settlements }))).settled).toEqual(['ok'])
    expect(await redis.keys('hk:lock:*')).toEqual([])
  })

  test('the error of a push names its jobs', async () => {
    const { hq } = app()
    const Job = hq.job('Job', () => {})
    await hq.store.open()
    await choke()
    const error = await Job.performAsync().catch((thrown) => thrown)
    expect(error).toMatchObject({ code: 'PUSH_FAILED', maybePushed: false, jids: [expect.stringMatching(/^\w{24}$/)] })
    expect((await Job.performIn('1m').catch((thrown) => thrown)).maybePushed).toBe(false)
  })

  test('queries work', async () => {
    const { hq } = app()
    await hq.store.ordered.push('o', 2, [{ id: 'id', payload: '1', score: 1, performIn: 1 }], NOW)
    await hq.store.jobs.push([toQueue('q', job(1)), { to: 'dead', text: job(2), score: NOW }], NOW)
    await choke()
    expect(await hq.stats()).toMatchObject({ enqueued: 1, dead: 1 })
    expect(await hq.store.ordered.counts('o', NOW)).toMatchObject({ name: 'o', morgueLength: 0 })
    expect(await hq.store.jobs.queues()).toMatchObject([{ name: 'q', size: 1 }])
    expect(await hq.store.jobSets.page('dead', { limit: 10 })).toHaveLength(1)
  })

  test('leases are renewed: a running job keeps its worker, and an idle worker does not spin', async () => {
    const [busy, idle] = [app(), app()]
    const ran = new Collector<string>()
    const { opened, open } = gate()
    for (const { hq } of [busy, idle]) {
      hq.job('Long', async () => {
        ran.add('long')
        await opened
      })
      hq.job('Quick', () => ran.add('quick'))
    }
    await busy.hq.jobNamed('Long').performAsync()
    await busy.work({ leaseSeconds: 1, concurrency: 1 })
    await ran.atLeast(1)
    await idle.work({ leaseSeconds: 1 })
    await choke()
    const [began, before] = [await leases(idle), await connections()]
    // Both leases are renewed again and again, and both processes search for dead owners.
    await until(async () => (await leases(idle)).every(({ ends }, i) => ends > (began[i]?.ends ?? 0) + 1500))
    expect(await leases(idle)).toMatchObject([{ claimed: false }, { claimed: false }])
    expect((await connections()) - before).toBeLessThan(10)

    // With free memory everything continues soon.
    await free()
    const at = performance.now()
    await idle.hq.jobNamed('Quick').performAsync()
    await ran.atLeast(2)
    expect(performance.now() - at).toBeLessThan(3000)
    await choke()
    open()
    await workedOff()
    expect(ran.all).toEqual(['long', 'quick'])
    expect(await redis.get('stat:processed')).toBe('2')
    expect([...busy.errors, ...idle.errors].filter(({ error }) => error.code === 'LEASE_LOST')).toEqual([])
  })

  test('a worker runs all jobs, retries and rows, each once', async () => {
    const { hq, work, errors } = app()
    const runs = new Map<string, number>()
    const ran = (what: string) => runs.set(what, (runs.get(what) ?? 0) + 1)
    const once = { retryIn: () => 0.01 }
    const Plain = hq.job('Plain', once, (ctx, n: number) => {
      ran(`plain ${n}`)
      if (n % 10 === 3 && ctx.attempt === 1) throw new Error('once')
    })
    const Row = hq.job('Row', once, (ctx, n: number) => {
      ran(`row ${n}`)
      if (n % 10 === 4) throw new BusinessFailure('no', { code: 'no' })
      if (n % 10 === 5 && ctx.attempt === 1) throw new Error('once')
    })
    await Plain.performBulk(Array.from({ length: 200 }, (_, n) => [n] as [number]))
    await Plain.performIn(0.01, 200)
    const args = Array.from({ length: 200 }, (_, n) => [n] as [number])
    const task = await hq.tasks.create(Row, args, { window: 20 })
    await choke()
    await work({ leaseSeconds: 1 })
    await workedOff()
    const { state, counts } = await task.wait()
    expect(state).toBe('done')
    expect(counts).toMatchObject({ finished: 180, failed: 20, error: 0, enqueued: 0, working: 0 })
    expect(await redis.mget('stat:processed', 'stat:failed')).toEqual([201 + 20 + 200 + 20, 20 + 20].map(String))
    expect(runs.size).toBe(401)
    expect([...runs].filter(([what, times]) => times !== (/^(plain \d*3|row \d*5)$/.test(what) ? 2 : 1))).toEqual([])
    expect(faultsOf(await contents(redis))).toEqual([])
    // The trouble is logged, but not over and over.
    expect(errors.filter(({ error }) => error.message !== 'once').length).toBeLessThan(10)
  })

  test('jobs of a dead process are rescued, and an idle worker runs them', async () => {
    const { hq, work } = app()
    const ran = new Collector<number>()
    hq.job('HardJob', (_ctx, n: number) => ran.add(n))
    await hq.store.jobs.push(
      [1, 2, 3, 4].map((n) => toQueue('q', job(n))),
      NOW,
    )
    const victim = bench({ url: server.url(database) }).hq.store
    await victim.workers.join('victim', { queues: ['q'], seconds: 1, host: 'elsewhere' })
    await victim.workers.settleAndFetch('victim', requestOf({ fetch: { queues: ['q'], n: 3 } }))
    await victim.workers.waitForJobs('victim', ['q'], 1, 1000, new AbortController().signal)
    await choke()
    await work({ leaseSeconds: 1, queues: ['q'] })
    await ran.atLeast(4)
    await workedOff()
    expect([...ran.all].sort()).toEqual([1, 2, 3, 4])
    expect(await redis.get('stat:processed')).toBe('4')
  })

  async function connections(): Promise<number> {
    return Number(/total_connections_received:(\d+)/.exec(await redis.info('stats'))?.[1])
  }

  /** Waits until no job is anywhere. It does not ask the store, because queries are a test of their own. */
  const workedOff = () => until(async () => locationsOf(await contents(redis)).size === 0)

  async function leases({ hq }: Pick<ReturnType<typeof bench>, 'hq'>) {
    return (await hq.store.workers.leases()).sort((a, b) => (a.owner < b.owner ? -1 : 1))
  }
})

const process1 = { identity: 'here:1:a', info: '{}', concurrency: 1, busy: 0, beat: NOW, quiet: false, rss: 1 }
