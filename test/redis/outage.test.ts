import { setTimeout as sleep } from 'node:timers/promises'
import { Highkiq, type Job } from 'highkiq'
import { Redis } from 'ioredis'
import { expect, type TestContext, test } from 'vitest'
import { openStore } from '#dist/store/open.js'
import { lua } from '#dist/store/redis/lua.generated.js'
import { Collector, gate, recorder, until } from '../engine/bench.ts'
import { contents, faultsOf, locationsOf } from './census.ts'
import { startProxy } from './proxy.ts'
import { type RedisServer, startServer } from './server.ts'
import { onRedis } from './suite.ts'

/** How long each trouble lasts; HIGHKIQ_CHAOS_SECONDS=60 for a thorough run. */
const SECONDS = Number(process.env.HIGHKIQ_CHAOS_SECONDS ?? 1)
/** After this time the search for jobs of lost answers has ended. */
const TIMEOUT_MS = 30_000 + SECONDS * 3000
/** Shorter than each outage, so that pushes reject while it lasts. */
const COMMAND_MS = 600
/** Waiting workers continue within this time after the server is back. */
const SOON_MS = 3000
/** Longer than a lease. */
const OUTAGE_MS = 1600

/**
 * Only the server fails here, never a worker. So each stored job runs exactly once, whatever happens to the server
 * and the connections, and no lease is lost.
 */
onRedis('a server in trouble', () => {
  test('scripts that the server forgets are sent again', { timeout: TIMEOUT_MS }, async (context) => {
    const scene = await Scene.make(context)
    await scene.during(() => scene.server.ask('SCRIPT', 'FLUSH'))
    expect([...scene.unsure, ...scene.refused]).toEqual([])
    await scene.expectOnce()
    expect(scene.errors).toEqual([])
  })

  test.concurrent('connections that are cut again and again lose and repeat no job', {
    timeout: TIMEOUT_MS,
  }, async (context) => {
    const scene = await Scene.make(context)
    await scene.during(async () => {
      await sleep(50 + Math.random() * 200)
      await scene.server.ask('CLIENT', 'KILL', 'TYPE', 'normal')
    })
    await scene.expectOnce()
  })

  test.concurrent('a server that crashes again and again keeps every job that it has acknowledged', {
    timeout: TIMEOUT_MS,
  }, async (context) => {
    const scene = await Scene.make(context)
    await scene.during(async () => {
      await sleep(100 + Math.random() * 300)
      await scene.server.kill()
      await sleep(Math.random() * 100)
      await scene.server.start()
    })
    await scene.expectOnce()
  })

  test.concurrent('a worker whose connection is cut during its start starts all the same', async (context) => {
    const server = await startServer()
    const proxy = await startProxy(server)
    const hq = new Highkiq({ url: proxy.url(), logger: recorder() })
    context.onTestFinished(async () => {
      await hq.close()
      await proxy.close()
      await server.remove()
    })
    const isJoin = (_: string, [script]: Buffer[]) => [lua.join.sha, lua.join.source].includes(String(script))
    const cuts = [
      proxy.onRequest(isJoin, 'cut-before'),
      proxy.onRequest(isJoin, 'cut-before-reply'),
      proxy.onRequest(isJoin, 'cut-after-request'),
    ]
    const ran = new Collector<number>()
    const job = hq.job('Do', async (_ctx, n: number) => ran.add(n))
    await hq.worker({ leaseSeconds: 5, pollInterval: 0.1 }).start()
    await Promise.all(cuts.map(({ happened }) => happened))
    await job.performAsync(1)
    expect(await ran.atLeast(1)).toEqual([1])
  })

  const outages = [
    ['down', (server: RedisServer) => server.kill(), (server: RedisServer) => server.start()],
    ['frozen', async (server: RedisServer) => server.freeze(), async (server: RedisServer) => server.thaw()],
  ] as const
  for (const [name, begin, end] of outages) {
    test.concurrent(`while a server is ${name} workers keep their jobs, and pushes report whether they were stored`, {
      timeout: TIMEOUT_MS,
    }, async (context) => {
      const scene = await Scene.make(context, COMMAND_MS / 1000)
      const { server, unsure, refused } = scene
      await scene.hold()
      await scene.push()
      const before = unsure.length + refused.length
      await begin(server)
      const over = sleep(OUTAGE_MS)
      // A frozen server may carry out what it was sent when it continues.
      await Promise.all([scene.push(), scene.push()])
      expect(unsure.length + refused.length - before).toBe(2)
      const sent = unsure.length
      // By now the client knows that it can't send anything.
      await Promise.all([scene.push(), scene.push()])
      expect(unsure).toHaveLength(sent)
      await over
      await end(server)
      const back = scene.stored.length
      await until(async () => {
        await scene.push()
        return scene.stored.length > back
      })
      const at = performance.now()
      await until(() => scene.ran.all.includes(scene.stored.at(-1) as number))
      expect(performance.now() - at).toBeLessThan(SOON_MS)
      scene.finish()
      await scene.expectOnce()
      if (name === 'frozen') expect(unsure.slice(-1).every((n) => scene.ran.all.includes(n))).toBe(true)
    })
  }

  test('a connection that breaks while it subscribes ends nothing', async ({ onTestFinished }) => {
    const server = await startServer()
    onTestFinished(() => server.remove())
    const proxy = await startProxy(server)
    onTestFinished(() => proxy.close())
    const store = openStore(proxy.url())
    onTestFinished(() => store.close())
    const isListening = (name: string) => name === 'SUBSCRIBE'
    const over = new AbortController()
    onTestFinished(() => over.abort())
    const first = proxy.onRequest(isListening, 'pass')
    void store.jobSets.waitUntilDue(TIMEOUT_MS, over.signal)
    await first.happened
    await until(async () => (await server.ask('PUBSUB', 'NUMSUB', 'hk:due'))[1] === '1')
    const again = proxy.onRequest(isListening, 'cut-before')
    const last = proxy.onRequest(isListening, 'pass')
    await server.ask('CLIENT', 'KILL', 'TYPE', 'pubsub')
    // The next wait subscribes again, if nothing has before.
    for (const step of [again, last]) {
      await until(async () => {
        await store.jobSets.waitUntilDue(10, over.signal)
        return Promise.race([step.happened, sleep(0, false)])
      })
    }
  })
})

/** A server, two workers and a client that pushes, each with connections of its own. */
class Scene {
  readonly server: RedisServer
  /** The numbers of the jobs, by the answer to their push. */
  readonly stored: number[] = []
  readonly unsure: number[] = []
  readonly refused: number[] = []
  readonly ran = new Collector<number>()
  readonly errors: string[] = []
  finish = () => {}
  #tried = 0
  readonly #job: Job<[n: number], void>
  readonly #apps: Highkiq[]

  constructor(server: RedisServer, redisTimeout = 5) {
    this.server = server
    const app = (more = {}) => new Highkiq({ url: server.url(1), logger: recorder(), ...more })
    this.#apps = [app({ redisTimeout }), app(), app()]
    const { opened, open } = gate()
    this.finish = open
    for (const hq of this.#apps) {
      hq.onError((error) => void this.errors.push(String((error as { code?: string }).code ?? error)))
      hq.job('Held', async (_ctx, n: number) => {
        this.ran.add(n)
        await opened
      })
    }
    const [job] = this.#apps.map((hq) => hq.job('Quick', (_ctx, n: number) => this.ran.add(n)))
    this.#job = job as Job<[n: number], void>
  }

  static async make(context: TestContext, redisTimeout?: number): Promise<Scene> {
    const server = await startServer({ appendonly: true, appendfsync: 'always' })
    context.onTestFinished(() => server.remove())
    const scene = new Scene(server, redisTimeout)
    context.onTestFinished(() => scene.close())
    const [, ...workers] = scene.#apps
    for (const hq of workers) await hq.worker({ leaseSeconds: 1, concurrency: 5, pollInterval: 0.1 }).start()
    return scene
  }

  async push(job = this.#job): Promise<void> {
    const n = ++this.#tried
    const said = await job.performAsync(n).then(
      () => this.stored,
      (thrown) => (thrown.maybePushed === true ? this.unsure : thrown.maybePushed === false ? this.refused : thrown),
    )
    if (!Array.isArray(said)) throw said
    said.push(n)
  }

  /** Jobs that run until `finish` is called. */
  async hold(): Promise<void> {
    const held = this.#apps[0]?.jobNamed('Held') as unknown as Job<[n: number], void>
    while (this.stored.length < 6) await this.push(held)
    await until(() => this.stored.every((n) => this.ran.all.includes(n)))
  }

  /** Pushes while a trouble is repeated. */
  async during(trouble: () => Promise<unknown>): Promise<void> {
    const end = performance.now() + SECONDS * 1000
    const again = async (work: () => Promise<unknown>) => {
      // On a busy machine it takes longer until some pushes succeed.
      while (performance.now() < end || this.stored.length < 20) await work()
    }
    const connections = Array.from({ length: 5 }, () =>
      again(async () => {
        await this.push()
        await sleep(Math.random() * 10)
      }),
    )
    await Promise.all([again(trouble), ...connections])
  }

  /** Waits until no job is left, and checks the counts. */
  async expectOnce(): Promise<void> {
    const redis = new Redis(this.server.url(1))
    await until(async () => locationsOf(await contents(redis)).size === 0)
    const all = await contents(redis)
    redis.disconnect()
    const { stored, unsure, refused } = this
    const ran = [...this.ran.all].sort((a, b) => a - b)
    const should = [...stored, ...unsure.filter((n) => ran.includes(n))].sort((a, b) => a - b)
    expect(ran).toEqual(should)
    expect(refused.filter((n) => ran.includes(n))).toEqual([])
    expect(Number(all['stat:processed'])).toBe(ran.length)
    expect(faultsOf(all)).toEqual([])
    expect(this.errors.filter((code) => code === 'LEASE_LOST')).toEqual([])
  }

  async close(): Promise<void> {
    this.finish()
    await Promise.all(this.#apps.map((hq) => hq.close()))
  }
}
