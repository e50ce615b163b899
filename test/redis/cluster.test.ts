import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Highkiq, type Job, type OrderedJob, PushError } from 'highkiq'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { openStore } from '#dist/store/open.js'
import type { Script } from '#dist/store/redis/server/connection.js'
import { keysOf } from '#dist/store/redis/server/keys.js'
import { Server } from '#dist/store/redis/server/server.js'
import { readRedisUrl } from '#dist/store/redis/server/url.js'
import { job, NOW, requestOf, toQueue } from '../conformance/bench.ts'
import { bench, Collector, gate, recorder, until } from '../engine/bench.ts'
import { makeCertificate, openssl } from '../programs/openssl.ts'
import { suiteWith } from '../programs/suite.ts'
import { Cluster, startClusterOfOne } from './cluster.ts'
import { leastRights } from './least-rights.ts'
import { freePort } from './port.ts'
import { redis } from './program.ts'
import { type RedisServer, startServer } from './server.ts'
import { onRedis } from './suite.ts'

/** Milliseconds for an election, or for a move of a slot: longer on a busy machine. */
const TIMEOUT_MS = 60_000

onRedis('a Redis Cluster', () => {
  let cluster: Cluster
  beforeAll(async () => {
    const ends: (() => Promise<void>)[] = []
    cluster = await Cluster.start({ onTestFinished: (end) => void ends.push(end as () => Promise<void>) })
    return async () => {
      for (const end of ends) await end()
    }
  }, TIMEOUT_MS)

  test('jobs, tasks, batches and ordered queues run, and all keys are in the slot of the namespace', async () => {
    const t = bench({ url: cluster.url('plain') })
    const master = await cluster.masterOf('plain')
    const ran = new Collector<unknown>()
    const job = t.hq.job('Do', (_ctx, n: unknown) => ran.add(n))
    const ordered = t.hq.ordered('Sync', { shards: 2 }, (_ctx, batch) => ran.add(Object.fromEntries(batch)))
    await t.work()
    await job.performAsync(1)
    await job.performIn(0.1, 2)
    const task = await t.hq.tasks.create(job, [[3], [4]])
    await task.wait()
    await t.hq.batch({ onSuccess: job, description: 'one' }, () => job.performAsync(5))
    await ordered.performAsync({ id: 'a', payload: 6 })
    // The callback of the batch is the seventh.
    expect(await ran.atLeast(7)).toEqual(expect.arrayContaining([1, 2, 3, 4, 5, { a: [6] }]))
    await t.settled()
    expect(t.errors).toEqual([])
    const keys = await master.ask('KEYS', '*')
    expect(keys.length).toBeGreaterThan(10)
    expect(keys.filter((key) => !key.startsWith('{plain}:'))).toEqual([])
    expect(t.log.lines.filter(({ level }) => level === 'warn').map(({ message }) => message)).toEqual([
      expect.stringContaining('all keys begin with {plain}:'),
    ])
  })

  test('an app finds its master by any node of the URL that answers, and later by the nodes which that one named', async () => {
    const master = await cluster.masterOf('any')
    const frozen = cluster.nodes.at(-1) as RedisServer
    const other = cluster.nodes.find((node) => node !== master) as RedisServer
    const seeds = [{ port: await freePort() }, frozen, other] as RedisServer[]
    frozen.freeze()
    onTestFinished(() => frozen.thaw())
    const options = readRedisUrl(cluster.url('any', seeds))
    const server = new Server(options)
    onTestFinished(() => server.close())
    await server.call((client) => client.set(server.keys.replicated, 'x'))
    expect(await master.ask('GET', server.keys.replicated)).toEqual(['x'])
    const known = options.cluster?.known.map(({ port }) => port)
    expect(known?.[0]).toBe(other.port)
    expect(known).toEqual(expect.arrayContaining(cluster.nodes.slice(0, 3).map(({ port }) => port)))
  })

  test('an address that belongs to another cluster now leads to no master', async ({ onTestFinished }) => {
    const stranger = await startClusterOfOne()
    onTestFinished(() => stranger.remove())
    await until(async () => /cluster_state:ok/.test(String(await stranger.ask('CLUSTER', 'INFO'))))
    const options = readRedisUrl(cluster.url('moved-away'))
    const write = async () => {
      const server = new Server(options)
      await server.call((client) => client.set(server.keys.replicated, 'x'))
      server.close()
    }
    await write()
    if (options.cluster) {
      const { known } = options.cluster
      options.cluster.known = [{ ...known[0], host: '127.0.0.1', port: stranger.port }]
    }
    await write()
    expect(await stranger.ask('DBSIZE')).toEqual(['0'])
  })

  test('a node that refuses the login does not stop those who wait for the others', async ({ onTestFinished }) => {
    const locked = await startServer()
    onTestFinished(() => locked.remove())
    await locked.ask('CONFIG', 'SET', 'requirepass', 'x')
    const call = async (hosts: string) => {
      const store = openStore(`redis+cluster://${hosts}`, { redisTimeout: 0.5 })
      onTestFinished(() => store.close())
      return store.jobs.queues()
    }
    const refusing = `127.0.0.1:${locked.port}`
    await expect(call(refusing)).rejects.toMatchObject({ code: 'STORE_UNUSABLE' })
    await expect(call(`${refusing},127.0.0.1:${await freePort()}`)).rejects.toMatchObject({
      code: 'STORE_UNREACHABLE',
      message: expect.stringMatching(/ECONNREFUSED.*; NOAUTH/),
    })
  })

  test('a URL for a single server is refused by a node, and one for a cluster by a single server, with the right form', async () => {
    const single = await startServer()
    onTestFinished(() => single.remove())
    const [node] = cluster.nodes as [RedisServer]
    const errorOf = (url: string) =>
      bench({ url })
        .hq.stats()
        .catch((thrown: unknown) => thrown)
    expect(await errorOf(node.url())).toMatchObject({
      code: 'STORE_UNUSABLE',
      message: expect.stringContaining('the server is a node of a cluster: use redis+cluster://'),
    })
    expect(await errorOf(cluster.url('any', [single]))).toMatchObject({
      code: 'STORE_UNUSABLE',
      message: expect.stringContaining('the server is not a node of a cluster: use redis://'),
    })
  })

  test('a script is refused before it begins while its slot moves, although all keys that it declares are there', async () => {
    const server = new Server(readRedisUrl(cluster.url('script')))
    onTestFinished(() => server.close())
    const [declared, computed] = [server.keys.queue('declared'), server.keys.queue('computed')]
    const source = `redis.call('APPEND', KEYS[1], #KEYS) return redis.call('GET', ARGV[1])`
    const script = { source } as Script
    const run = () => server.run(script, [declared], [computed])
    await server.call((client) => client.mset(declared, '', computed, 'value'))
    expect(await run()).toBe('value')
    expect(await run()).toBe('value')
    const move = await cluster.slotMove('script')
    await move.begin()
    await move.move(computed)
    const refused = { code: 'STORE_UNREACHABLE', details: { sent: false } }
    await expect(run()).rejects.toMatchObject(refused)
    expect(await move.from.ask('GET', declared)).toEqual(['11'])
    while ((await move.moveSome(10)) > 0);
    await expect(run()).rejects.toMatchObject(refused)
    await move.end()
    await until(() =>
      run().then(
        (answer) => answer === 'value',
        () => false,
      ),
    )
    expect(await move.to.ask('GET', declared)).toEqual(['111'])
  })

  test('a job that arrives while the slot moves runs only when the worker can read whether it was cancelled', async () => {
    const store = openStore(cluster.url('waiting'))
    onTestFinished(() => store.close())
    const keys = keysOf('{waiting}')
    await store.workers.join('one', { queues: ['q'], seconds: 60, host: 'here' })
    await store.jobs.push(
      [1, 2, 3].map((n) => toQueue('q', job(n))),
      NOW,
    )
    const { signal } = new AbortController()
    const wait = () => store.workers.waitForJobs('one', ['q'], 1, 1000, signal)
    // The queue and the arrivals exist from here on, so the node moves jobs between them.
    expect(await wait()).toMatchObject([{ text: job(1) }])
    const [version] = await store.cancellations.request('2', NOW)
    const move = await cluster.slotMove('waiting')
    await move.begin()
    await move.move(keys.cancellationVersion)
    await expect(wait()).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' })
    expect(await move.from.ask('LRANGE', keys.arriving('q', 'one'), '0', '-1')).toEqual([job(2), job(1)])
    while ((await move.moveSome(10)) > 0);
    await move.end()
    // The next step fetches the job, and its answer has the version of the cancellation.
    const step = requestOf({ fetch: { queues: ['q'], n: 1 } })
    const fetched = new Map<string, number>()
    await until(async () => {
      const answer = await store.workers.settleAndFetch('one', step).catch(() => undefined)
      for (const { text } of answer?.fetched ?? []) fetched.set(text, answer?.cancellations ?? 0)
      return fetched.size === 2
    })
    expect(fetched.get(job(2))).toBe(version)
  })

  test('no job is lost, runs twice or runs out of order while the hash slot moves under load', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const load = new Load(cluster.url('moving'))
    await load.begin()
    // This job runs longer than a lease without renewals.
    const long = await load.beginLong()
    const rows = Array.from({ length: 300 }, (_, n) => n)
    const task = await load.hq.tasks.create(
      load.row,
      rows.map((n) => [n]),
      { window: 20 },
    )
    await load.acknowledged(50)
    const move = await cluster.slotMove('moving')
    await move.begin()
    do await load.refused(30)
    while ((await move.moveSome(5)) > 0)
    await move.end()
    await load.acknowledged(50)
    long.end()
    await load.end()
    expect((await task.wait()).counts).toMatchObject({ finished: 300 })
    expect([...load.rows].sort((a, b) => a - b)).toEqual(rows)
    for (const { acknowledged, refused, ran } of [load.jobs, load.payloads]) {
      await until(() => acknowledged.every((n) => ran.includes(n)))
      expect(refused.filter((n) => ran.includes(n))).toEqual([])
      expect(new Set(ran).size).toBe(ran.length)
    }
    expect(load.payloads.ran).toEqual([...load.payloads.ran].sort((a, b) => a - b))
    expect(long.starts()).toBe(1)
    expect(await cluster.masterOf('moving')).toBe(move.to)
  })

  test('when the master dies no push that waited for its replica is lost', { timeout: TIMEOUT_MS }, async () => {
    const master = await cluster.masterOf('failing')
    // The only node of the URL is the one that dies.
    const load = new Load(cluster.url('failing', [master], '&waitForReplicas=1'))
    await load.begin()
    await load.acknowledged(50)
    await master.kill()
    await until(async () => (await cluster.masterOf('failing').catch(() => master)) !== master)
    // It becomes the replica that confirms the pushes.
    await master.start()
    await load.acknowledged(50)
    await load.end()
    for (const { acknowledged, ran } of [load.jobs, load.payloads]) {
      await until(() => acknowledged.every((n) => ran.includes(n)))
    }
  })
})

suiteWith([redis, openssl], 'a Redis Cluster over TLS', () => {
  test('a user with few rights runs jobs, also when the node does not know its own name', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'highkiq-tls-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const { key, certificate } = makeCertificate(folder)
    const port = await freePort()
    const node = await startClusterOfOne({
      'tls-cluster': true,
      'tls-port': port,
      'tls-cert-file': certificate,
      'tls-key-file': key,
      'tls-ca-cert-file': certificate,
      'tls-auth-clients': 'no',
    })
    onTestFinished(() => node.remove())
    const rights = leastRights.map((right) => right.replace('app:', '{app}:'))
    const more = ['+cluster|info', '+cluster|keyslot', '+cluster|slots']
    await node.ask('ACL', 'SETUSER', 'app', 'on', '>secret', ...rights, ...more)
    const tls = { ca: readFileSync(certificate) }
    const t = bench({ url: `rediss+cluster://app:secret@127.0.0.1:${port}?namespace=app`, redis: { tls } })
    const ran = new Collector<number>()
    const job = t.hq.job('Do', (_ctx, n: number) => ran.add(n))
    const worker = await t.work({ leaseSeconds: 1 })
    await job.performAsync(1)
    expect(await ran.atLeast(1)).toEqual([1])
    await t.settled()
    await worker.stop()
    expect(t.errors).toEqual([])
    expect(await node.ask('ACL', 'LOG')).toEqual([])
    const stranger = bench({ url: `rediss+cluster://app:wrong@127.0.0.1:${port}`, redis: { tls } })
    await expect(stranger.hq.stats()).rejects.toMatchObject({ code: 'STORE_UNUSABLE', message: /WRONGPASS/ })
  })
})

/** What became of numbered pushes. */
class Pushes {
  readonly acknowledged: number[] = []
  /** Those that are surely not stored. */
  readonly refused: number[] = []
  /** The numbers in the order in which they ran. */
  readonly ran: number[] = []
  #count = 0

  async push(one: (n: number) => Promise<unknown>): Promise<void> {
    const n = ++this.#count
    await one(n).then(
      () => this.acknowledged.push(n),
      (thrown) => {
        expect(thrown).toBeInstanceOf(PushError)
        if (!(thrown as PushError).maybePushed) this.refused.push(n)
      },
    )
  }
}

/** Two apps that run jobs, the payloads of an ordered queue and the rows of tasks. The first one also pushes. */
class Load {
  readonly hq: Highkiq
  readonly row: Job<[number], void>
  readonly jobs = new Pushes()
  readonly payloads = new Pushes()
  readonly rows: number[] = []
  readonly #apps: Highkiq[]
  readonly #job: Job<[number], void>
  readonly #ordered: OrderedJob<number>
  readonly #long: Job<[], void>
  readonly #longEnd = gate()
  #longStarts = 0
  #pushing: Promise<unknown> = Promise.resolve()
  #isOver = false

  constructor(url: string) {
    this.#apps = [1, 2].map(() => new Highkiq({ url, logger: recorder() }))
    for (const app of this.#apps) onTestFinished(() => app.close())
    const defined = this.#apps.map((app) => ({
      job: app.job('Do', (_ctx, n: number) => void this.jobs.ran.push(n)),
      row: app.job('Row', (_ctx, n: number) => void this.rows.push(n)),
      ordered: app.ordered('Sync', { shards: 1 }, (_ctx, batch: Map<string, number[]>) => {
        for (const some of batch.values()) this.payloads.ran.push(...some)
      }),
      long: app.job('Long', async () => {
        this.#longStarts++
        await this.#longEnd.opened
      }),
    }))
    const [{ job, row, ordered, long }] = defined as [(typeof defined)[number]]
    this.hq = this.#apps[0] as Highkiq
    this.row = row
    this.#job = job
    this.#ordered = ordered
    this.#long = long
  }

  /** Starts to push and to run. */
  async begin(): Promise<void> {
    for (const app of this.#apps) await app.worker({ queues: ['default'], leaseSeconds: 1, concurrency: 5 }).start()
    const repeat = async (push: () => Promise<void>) => {
      while (!this.#isOver) {
        await push()
        await sleep(2)
      }
    }
    this.#pushing = Promise.all([
      repeat(() => this.jobs.push((n) => this.#job.performAsync(n))),
      repeat(() => this.payloads.push((n) => this.#ordered.performAsync({ id: 'a', payload: n, score: n }))),
    ])
  }

  /** Runs a job until `end`. */
  async beginLong() {
    await this.#long.performAsync()
    await until(() => this.#longStarts > 0)
    return { end: this.#longEnd.open, starts: () => this.#longStarts }
  }

  /** Resolves when so many more pushes of each kind are stored. */
  async acknowledged(more: number): Promise<void> {
    const kinds = [this.jobs.acknowledged, this.payloads.acknowledged]
    await Promise.all(kinds.map((list) => grown(list, more)))
  }

  /** Resolves when so many more pushes of the ordered queue were refused. */
  async refused(more: number): Promise<void> {
    await grown(this.payloads.refused, more)
  }

  /** Stops to push. */
  async end(): Promise<void> {
    this.#isOver = true
    await this.#pushing
  }
}

async function grown(list: readonly unknown[], more: number): Promise<void> {
  const wanted = list.length + more
  await until(() => list.length >= wanted)
}
