import { setTimeout as sleep } from 'node:timers/promises'
import { Highkiq, type Job } from 'highkiq'
import { expect, type TestContext, test } from 'vitest'
import { Collector, gate, promptly, recorder, until } from '../engine/bench.ts'
import { type RedisServer, startServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'
import { TROUBLES } from './shard-troubles.ts'

/**
 * How many jobs of the other shard run soon after a shard is gone. If each step waited 5 seconds for it, they would take a
 * minute.
 */
const MANY = 300
const SOON_SECONDS = 2
const HELD = 6

/** Why a shard refuses jobs: its name, the command that begins it and the one that ends it. */
const REFUSALS = [
  ['has no memory', ['CONFIG', 'SET', 'maxmemory', '1'], ['CONFIG', 'SET', 'maxmemory', '0']],
  ['is a replica', ['REPLICAOF', '127.0.0.1', '1'], ['REPLICAOF', 'NO', 'ONE']],
  ['refuses plain pushes', ['ACL', 'SETUSER', 'default', '-lpush'], ['ACL', 'SETUSER', 'default', '+lpush']],
] as const

onRedis('two shards, one of them in trouble', () => {
  for (const [name, begin, end] of TROUBLES) {
    test.concurrent(`while a shard is ${name} the jobs of the other one run on, and each stored job runs once`, {
      timeout: 60_000,
    }, async (context) => {
      const scene = await Scene.make(context)
      await scene.hold()
      const pushing = scene.push()
      await scene.runs(MANY)

      await begin(scene.second)
      await promptly(SOON_SECONDS, scene.runs(MANY))
      // The jobs of both shards end while one is gone.
      scene.finish()
      await until(() => scene.isRefusing())
      await promptly(SOON_SECONDS, scene.runs(MANY))
      // Pushes that were sent before are unsure, or rejected when they time out.
      if (name === 'frozen') await until(() => scene.unsure.length > 0)
      await scene.expectOnlyPlainPushes()

      await end(scene.second)
      await until(async () => !(await scene.isRefusing()))
      await promptly(SOON_SECONDS, scene.runs(MANY))
      scene.isOver = true
      await pushing
      await scene.expectOnce()
    })
  }

  for (const [name, begin, end] of REFUSALS) {
    test(`while a shard ${name} plain jobs are pushed to the other one, and to both when it takes jobs again`, async (context) => {
      const scene = await Scene.make(context)
      const pushing = scene.push()
      await scene.runs(MANY)
      await scene.second.ask(...begin)
      await promptly(SOON_SECONDS, scene.runs(MANY))
      const unsure = scene.unsure.length
      await promptly(SOON_SECONDS, scene.runs(MANY))
      // Each push was stored, except those that were under way when the connection was dropped.
      expect([scene.refused, scene.unsure.slice(unsure)]).toEqual([[], []])

      await scene.second.ask(...end)
      const before = await scene.pushesOn(scene.second)
      await until(async () => (await scene.pushesOn(scene.second)) > before)
      scene.isOver = true
      await pushing
      await scene.expectOnce()
    })
  }

  test('while a shard refuses all scripts the jobs of the other one run on, and each stored job runs once', async (context) => {
    const scene = await Scene.make(context)
    await scene.hold()
    const pushing = scene.push()
    await scene.runs(MANY)
    await scene.second.ask('ACL', 'SETUSER', 'default', '-eval', '-evalsha')
    await promptly(SOON_SECONDS, scene.runs(MANY))
    // The jobs of both shards end meanwhile.
    scene.finish()
    await until(() => scene.isRefusing())
    await promptly(SOON_SECONDS, scene.runs(MANY))

    await scene.second.ask('ACL', 'SETUSER', 'default', '+eval', '+evalsha')
    await promptly(SOON_SECONDS, scene.runs(MANY))
    scene.isOver = true
    await pushing
    await scene.expectOnce()
  })

  test('a worker that starts while a shard is down serves it when it is back, and keeps its lease', async (context) => {
    const scene = await Scene.make(context, false)
    await scene.second.kill()
    await scene.work()
    await scene.hold()
    await scene.second.start()
    await until(async () => !(await scene.isRefusing()))
    const pushing = scene.push()
    await scene.runs(MANY)
    scene.isOver = true
    await pushing
    scene.finish()
    await scene.expectOnce()
  })

  test('a worker that stops while a shard is down settles the jobs of that shard when it is back', async (context) => {
    const scene = await Scene.make(context)
    await scene.hold()
    await scene.second.kill()
    scene.finish()
    const stopping = scene.stop()
    // By now it has tried eight times.
    expect(await Promise.race([stopping, sleep(4000, 'stopping')])).toBe('stopping')
    await scene.second.start()
    await stopping
    await scene.expectOnce()
  })

  test('an idle worker waits on both shards without asking them again and again', async (context) => {
    const scene = await Scene.make(context)
    const calls = async () => {
      const infos = await Promise.all(scene.servers.map((server) => server.ask('INFO', 'commandstats')))
      const counts = [...infos.join().matchAll(/cmdstat_(?:evalsha|blmove):calls=(\d+)/g)]
      return counts.reduce((sum, [, count]) => sum + Number(count), 0)
    }
    const before = await calls()
    await sleep(1000)
    expect((await calls()) - before).toBeLessThan(100)
  })
})

/** Two servers, a worker, and an app that pushes. */
class Scene {
  readonly servers: readonly [RedisServer, RedisServer]
  readonly second: RedisServer
  /** The numbers of the jobs, by the answer to their push. */
  readonly stored: number[] = []
  readonly unsure: number[] = []
  readonly refused: number[] = []
  readonly ran = new Collector<number>()
  readonly errors: string[] = []
  finish = () => {}
  isOver = false
  #pushed = 0
  readonly #worker: Highkiq
  readonly #client: Highkiq
  readonly #quick: Job<[n: number], void>
  readonly #held: Job<[n: number], void>
  readonly #unique: Job<[n: number], void>

  constructor(servers: [RedisServer, RedisServer]) {
    this.servers = servers
    this.second = servers[1]
    const url = servers.map((server) => server.url()).join(' ')
    const app = () => new Highkiq({ url, logger: recorder() })
    const { opened, open } = gate()
    this.finish = open
    this.#worker = app()
    this.#worker.onError((error) => void this.errors.push(`${(error as { code?: string }).code} ${error}`))
    this.#client = app()
    const jobs = [this.#worker, this.#client].map((hq) => ({
      quick: hq.job('Quick', (_ctx, n: number) => this.ran.add(n)),
      held: hq.job('Held', async (_ctx, n: number) => {
        this.ran.add(n)
        await opened
      }),
      unique: hq.job('Unique', { unique: true }, (_ctx, n: number) => this.ran.add(n)),
    }))
    const [, { quick, held, unique }] = jobs as [unknown, (typeof jobs)[number]]
    this.#quick = quick
    this.#held = held
    this.#unique = unique
  }

  static async make(context: TestContext, works = true): Promise<Scene> {
    const start = () => startServer({ appendonly: true, appendfsync: 'always' })
    const servers = await Promise.all([start(), start()])
    context.onTestFinished(async () => void (await Promise.all(servers.map((server) => server.remove()))))
    const scene = new Scene(servers)
    context.onTestFinished(() => scene.close())
    if (works) await scene.work()
    return scene
  }

  async work(): Promise<void> {
    await this.#worker.worker({ leaseSeconds: 1, concurrency: 20, pollInterval: 0.1 }).start()
  }

  async stop(): Promise<void> {
    await this.#worker.close()
  }

  /** Pushes again and again, without waiting for answers, until `isOver`. */
  async push(): Promise<void> {
    const answers: Promise<void>[] = []
    while (!this.isOver) {
      for (let n = 0; n < 5; n++) answers.push(this.#push(this.#quick))
      await sleep(5)
    }
    await Promise.all(answers)
  }

  async #push(job: Job<[n: number], void>): Promise<void> {
    const n = this.#pushed++
    try {
      await job.performAsync(n)
      this.stored.push(n)
    } catch (thrown) {
      const { maybePushed } = thrown as { maybePushed?: boolean }
      if (maybePushed === undefined) throw thrown
      if (maybePushed) this.unsure.push(n)
      else this.refused.push(n)
    }
  }

  /** Resolves when `n` more jobs have run. */
  async runs(n: number): Promise<void> {
    await this.ran.atLeast(this.ran.all.length + n)
  }

  /** Returns how many pushes of plain jobs a server has carried out. */
  async pushesOn(server: RedisServer): Promise<number> {
    const stats = await server.ask('INFO', 'commandstats')
    return Number(/cmdstat_lpush:calls=(\d+)/.exec(stats.join())?.[1] ?? 0)
  }

  /** Pushes jobs that run until `finish` is called, and waits until they run. */
  async hold(): Promise<void> {
    while (this.stored.length < HELD) await this.#push(this.#held)
    await until(() => this.stored.every((n) => this.ran.all.includes(n)))
  }

  /** Whether the client knows that a shard is gone: it refuses jobs whose lock is there. */
  async isRefusing(): Promise<boolean> {
    const refused = this.refused.length
    await Promise.all(Array.from({ length: 20 }, () => this.#push(this.#unique)))
    return this.refused.length > refused
  }

  /** Expects that jobs with a lock on the shard that is gone are refused at once by its name, and others stored. */
  async expectOnlyPlainPushes(): Promise<void> {
    const answers = await promptly(
      SOON_SECONDS,
      Promise.allSettled(Array.from({ length: 20 }, () => this.#unique.performAsync(-this.#pushed++))),
    )
    const errors = answers.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
    expect(errors.length).toBeGreaterThan(0)
    expect(errors.length).toBeLessThan(20)
    for (const error of errors) {
      expect(error).toMatchObject({ code: 'PUSH_FAILED', maybePushed: false })
      expect(String(error)).toContain(`shard 2 of 2 can't be reached: ${this.second.url()}`)
    }
    const refused = this.refused.length
    await Promise.all(Array.from({ length: 20 }, () => this.#push(this.#quick)))
    expect(this.refused.length).toBe(refused)
  }

  /** Waits until no job is left, and checks that each stored one ran once. */
  async expectOnce(): Promise<void> {
    const { metrics } = this.#client.store
    await until(async () => {
      const { enqueued, fetched, retries } = await metrics.totals()
      return enqueued + fetched + retries === 0
    })
    const ran = this.ran.all.filter((n) => n >= 0).sort((a, b) => a - b)
    const should = [...this.stored, ...this.unsure.filter((n) => ran.includes(n))].sort((a, b) => a - b)
    expect(ran).toEqual(should)
    expect(this.refused.filter((n) => ran.includes(n))).toEqual([])
    const { processed } = await metrics.totals()
    expect(processed).toBe(this.ran.all.length)
    expect(this.errors.filter((error) => error.startsWith('LEASE_LOST'))).toEqual([])
    // An outage is reported a few times, not once per call.
    expect(this.errors.length).toBeLessThan(20)
  }

  async close(): Promise<void> {
    this.finish()
    this.isOver = true
    await Promise.all([this.stop(), this.#client.close()])
  }
}
