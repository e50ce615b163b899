import { setTimeout as sleep } from 'node:timers/promises'
import { Highkiq, type HighkiqOptions, type Job, PushError } from 'highkiq'
import { expect, type TestContext, test } from 'vitest'
import type { Store } from '#dist/store/contract.js'
import { openStore } from '#dist/store/open.js'
import { job, NOW, toQueue } from '../conformance/bench.ts'
import { PRODUCER, rows, spec } from '../conformance/tasks/tracked.ts'
import { Collector, recorder, until } from '../engine/bench.ts'
import { startProxy } from './proxy.ts'
import { type RedisServer, startSentinel, startServer } from './server.ts'
import { onRedis } from './suite.ts'

/** HIGHKIQ_SENTINEL_PUSHES=5000 for a thorough run, which also waits until the old master is a replica. */
const THOROUGH = process.env.HIGHKIQ_SENTINEL_PUSHES
const PUSHES = Number(THOROUGH ?? 200)
const NAME = 'main'
/**
 * Milliseconds from the promotion of the replica until the last Sentinel reports it: they exchange it every second or
 * two.
 */
const LOSS_MS = 4000
/** Milliseconds from the report of a Sentinel to the end of the connections. */
const SOON_MS = 300
/** Milliseconds for an election: it takes seconds, and longer on a busy machine. */
const TIMEOUT_MS = 90_000

onRedis('a failover by Sentinel', () => {
  test.concurrent('a planned one loses only pushes of its last second, and none that waited for a replica', {
    timeout: TIMEOUT_MS,
  }, async (context) => {
    const scene = await Scene.make(context)
    const over = await scene.during(() => scene.failOver())
    const lost = await scene.lost(scene.plain)
    expect(lost.filter(({ at }) => at < over - LOSS_MS || at > over + SOON_MS)).toEqual([])
    expect(await scene.lost(scene.safe)).toEqual([])
    await scene.expectWork()
  })

  test.concurrent('one after a crash loses only pushes that had not reached the replica, and none that waited for it', {
    timeout: TIMEOUT_MS,
  }, async (context) => {
    const scene = await Scene.make(context)
    let diedAt = 0
    await scene.during(async () => {
      const master = await scene.master()
      diedAt = performance.now()
      await master.kill()
      await scene.replaced(master)
    })
    const lost = await scene.lost(scene.plain)
    expect(lost.filter(({ at }) => at < diedAt - LOSS_MS || at > diedAt + SOON_MS)).toEqual([])
    expect(await scene.lost(scene.safe)).toEqual([])
    await scene.expectWork()
  })
})

onRedis('a push that waits for replicas', () => {
  test('rejects as maybePushed when there is no replica', async ({ onTestFinished }) => {
    const server = await startServer()
    onTestFinished(() => server.remove())
    const hq = new Highkiq({ url: `${server.url()}?waitForReplicas=1`, redisTimeout: 1, logger: recorder() })
    onTestFinished(() => hq.close())
    const refused = await hq
      .job('Do', () => {})
      .performAsync()
      .catch((thrown: unknown) => thrown)
    expect(refused).toBeInstanceOf(PushError)
    expect(refused).toMatchObject({ maybePushed: true, message: expect.stringContaining('0 of 1 replicas') })
    expect(await hq.queue('default').size()).toBe(1)
  })

  test('rejects until the replica has it, also when it is repeated and finds its jobs stored', async (context) => {
    const { master, replica } = await startReplicated(context)
    const proxy = await startProxy(master)
    context.onTestFinished(() => proxy.close())
    const store = openStore(proxy.url(), { waitForReplicas: 1, redisTimeout: 1 })
    context.onTestFinished(() => store.close())
    await store.tasks.create(spec(1))
    const pushes: [string, () => Promise<unknown>][] = [
      ['an idempotent job', () => store.jobs.push([{ ...toQueue('q', job(1)), once: '1' }], NOW)],
      ['one with a limited queue', () => store.jobs.push([{ ...toQueue('q', job(2)), once: '2', maxLength: 9 }], NOW)],
      ['rows', () => store.tasks.addRows(spec(1).id, PRODUCER, 0, rows(0, 5), NOW)],
    ]
    const unconfirmed = { message: expect.stringContaining('0 of 1 replicas') }
    for (const [what, push] of pushes) {
      await until(() => confirmed(store))
      replica.freeze()
      const { happened } = proxy.onRequest((name) => name.startsWith('EVAL'), 'cut-before-reply')
      await expect(push(), what).rejects.toThrow()
      await happened
      await expect(push(), what).rejects.toMatchObject(unconfirmed)
      replica.thaw()
      await until(() =>
        push().then(
          () => true,
          () => false,
        ),
      )
    }
    expect(await store.jobs.queues(['q'])).toMatchObject([{ size: 2 + 3 }])
  })
})

/** Starts a server and its replica. */
async function startReplicated({ onTestFinished }: Pick<TestContext, 'onTestFinished'>) {
  const master = await startServer({ 'repl-diskless-sync-delay': 0 })
  onTestFinished(() => master.remove())
  const replica = await startServer({ replicaof: `127.0.0.1 ${master.port}`, 'repl-diskless-sync-delay': 0 })
  onTestFinished(() => replica.remove())
  await until(async () => (await master.ask('INFO', 'replication')).join().includes('state=online'))
  return { master, replica }
}

/** Returns whether the replica confirms a push. */
function confirmed(store: Store): Promise<boolean> {
  return store.jobs.push([toQueue('other', job(9))], NOW).then(
    () => true,
    () => false,
  )
}

interface Acknowledged {
  jid: string
  /** The time on the monotonic clock. */
  at: number
}

/** An app that pushes until it is stopped. */
class Pusher {
  readonly hq: Highkiq
  readonly ran = new Collector<string>()
  readonly acknowledged: Acknowledged[] = []
  readonly #job: Job<[], void>

  constructor(options: HighkiqOptions) {
    this.hq = new Highkiq({ logger: recorder(), ...options })
    this.#job = this.hq.job('Do', async ({ jid }) => this.ran.add(jid))
  }

  async push(wanted: () => boolean): Promise<void> {
    while (wanted()) {
      await this.#job.performAsync().then(
        (jid) => this.acknowledged.push({ jid: String(jid), at: performance.now() }),
        (thrown) => expect(thrown).toBeInstanceOf(PushError),
      )
      await sleep(2)
    }
  }
}

/** Starts two servers, three Sentinels, and two apps that push to the master. */
class Scene {
  readonly #servers: readonly RedisServer[]
  readonly sentinels: readonly RedisServer[]
  readonly plain: Pusher
  /** The app whose pushes wait for a replica. */
  readonly safe: Pusher

  static async make({ onTestFinished }: TestContext): Promise<Scene> {
    // A Sentinel asks a master for its replicas once at its start, and then every 10 s.
    const { master, replica } = await startReplicated({ onTestFinished })
    const sentinels = await Promise.all(
      [1, 2, 3].map(() =>
        startSentinel([
          `sentinel monitor ${NAME} 127.0.0.1 ${master.port} 2`,
          `sentinel down-after-milliseconds ${NAME} 1000`,
          `sentinel failover-timeout ${NAME} 6000`,
        ]),
      ),
    )
    for (const sentinel of sentinels) onTestFinished(() => sentinel.remove())
    for (const sentinel of sentinels) await until(() => knowsAll(sentinel))
    const scene = new Scene([master, replica], sentinels)
    for (const { hq } of [scene.plain, scene.safe]) onTestFinished(() => hq.close())
    await scene.plain.hq.worker({ queues: ['other'] }).start()
    return scene
  }

  constructor(servers: readonly RedisServer[], sentinels: readonly RedisServer[]) {
    this.#servers = servers
    this.sentinels = sentinels
    const url = `redis+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join()}/${NAME}`
    this.plain = new Pusher({ url })
    this.safe = new Pusher({ url, waitForReplicas: 1 })
  }

  /** Returns the server that a Sentinel calls the master. */
  async master(sentinel = this.sentinels[0]): Promise<RedisServer> {
    const [, port] = (await sentinel?.ask('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME)) ?? []
    return this.#servers.find((server) => String(server.port) === port) as RedisServer
  }

  /** Asks for a failover; resolves when it is over. */
  async failOver(): Promise<void> {
    const old = await this.master()
    await this.sentinels[0]?.ask('SENTINEL', 'FAILOVER', NAME)
    await this.replaced(old)
  }

  /** Resolves when all Sentinels name another master. */
  async replaced(old: RedisServer): Promise<void> {
    for (const sentinel of this.sentinels) await until(async () => (await this.master(sentinel)) !== old)
  }

  /** Pushes before, during and after an event of the servers. Resolves when the event is over. */
  async during(trouble: () => Promise<void>): Promise<number> {
    const { plain, safe } = this
    let isOver = false
    const load = Promise.all([plain, plain, plain, safe, safe].map((one) => one.push(() => !isOver)))
    const have = (one: Pusher, count: number) => until(() => one.acknowledged.length >= count)
    await Promise.all([have(plain, PUSHES), have(safe, PUSHES / 2)])
    await trouble()
    const over = performance.now()
    await have(plain, plain.acknowledged.length + PUSHES)
    if (THOROUGH) await have(safe, safe.acknowledged.length + PUSHES)
    isOver = true
    await load
    return over
  }

  /** Lists acknowledged pushes that the master does not have. */
  async lost({ acknowledged }: Pusher): Promise<Acknowledged[]> {
    const texts = await (await this.master()).ask('LRANGE', 'queue:default', '0', '-1')
    const stored = new Set(texts.map((text) => (JSON.parse(text) as { jid: string }).jid))
    const lost = acknowledged.filter(({ jid }) => !stored.has(jid))
    if (THOROUGH) console.info(`${lost.length} of ${acknowledged.length} acknowledged pushes are lost`)
    return lost
  }

  /** Expects that the worker which waited all the time goes on, and that another one runs everything in the queue. */
  async expectWork(): Promise<void> {
    const { hq, ran } = this.plain
    await hq.push({ class: 'Do', args: [], queue: 'other' })
    await ran.atLeast(1)
    const count = await hq.queue('default').size()
    await hq.worker().start()
    await ran.atLeast(1 + count)
  }
}

/** Returns whether a Sentinel knows the replica and both other Sentinels. */
async function knowsAll(sentinel: RedisServer): Promise<boolean> {
  const fields = await sentinel.ask('SENTINEL', 'MASTER', NAME)
  const of = (name: string) => fields[fields.indexOf(name) + 1]
  return of('num-slaves') === '1' && of('num-other-sentinels') === '2'
}
