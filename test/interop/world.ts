/** A Redis with both languages on it, for one test file; each of its tests begins with nothing. */

import type { HighkiqOptions, Payload } from 'highkiq'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, onTestFinished } from 'vitest'
import { type Bench, bench, until } from '../engine/bench.ts'
import { suiteWith } from '../programs/suite.ts'
import { redis as redisServer } from '../redis/program.ts'
import { type RedisServer, startServer } from '../redis/server.ts'
import { defineJobs } from './jobs.js'
import { sidekiq } from './program.ts'
import { RubyConsole } from './ruby-console.ts'
import { nodeWorker, rubyWorker, type WorkerOptions, type WorkerProcess } from './worker-process.ts'

/** The report of a job about its run; see jobs.js and ruby/jobs.rb. */
export interface RunReport {
  by: 'node' | 'ruby'
  pid: number
  jid: string
  args: unknown[]
  /** Whose scheduler put it into its queue, if that says so. */
  movedBy?: string
}

export class World {
  readonly #server: RedisServer
  readonly redis: Redis
  readonly ruby: RubyConsole

  constructor(server: RedisServer) {
    this.#server = server
    this.redis = new Redis(server.url())
    this.ruby = new RubyConsole(server.url())
  }

  get url(): string {
    return this.#server.url()
  }

  /** An app with the jobs of the Node side, which writes what this Ruby reads. */
  node(options: HighkiqOptions = {}): Bench {
    const node = bench({ wire: 6, ...options, url: this.url })
    defineJobs(node.hq, this.redis)
    return node
  }

  /** A `sidekiq` process that has started; killed at the end of the test. */
  rubyWorker(options: WorkerOptions): Promise<WorkerProcess> {
    return started(rubyWorker(this.url, options))
  }

  /** The same of ours. */
  nodeWorker(options: WorkerOptions): Promise<WorkerProcess> {
    return started(nodeWorker(this.url, options))
  }

  /** Resolves to the reports of jobs, once there are `n`. */
  async reports(n: number, type: 'ran' | 'began' = 'ran'): Promise<RunReport[]> {
    return (await this.reportTexts(n, type)).map((text) => JSON.parse(text))
  }

  /** The same as they were written. */
  async reportTexts(n: number, type: 'ran' | 'began' = 'ran'): Promise<string[]> {
    await until(async () => (await this.redis.llen(type)) >= n)
    return this.redis.lrange(type, '0', '-1')
  }

  /** The jobs of a queue, the next to run first. */
  async queue(name: string): Promise<Payload[]> {
    return (await this.redis.lrange(`queue:${name}`, '0', '-1')).reverse().map((text) => JSON.parse(text))
  }

  /** The texts of a set, once there are `n`. */
  async set(name: 'retry' | 'schedule' | 'dead', n = 0): Promise<string[]> {
    await until(async () => (await this.redis.zcard(name)) >= n)
    return this.redis.zrange(name, '0', '-1')
  }

  /** Time goes by until all of a set is due. */
  async makeDue(set: 'retry' | 'schedule'): Promise<void> {
    const texts = await this.redis.zrange(set, '0', '-1')
    if (texts.length > 0) await this.redis.zadd(set, 'XX', ...texts.flatMap((text) => [1, text]))
  }

  async end(): Promise<void> {
    await this.ruby.end()
    this.redis.disconnect()
    await this.#server.remove()
  }
}

/** Registers a suite that needs Ruby's Sidekiq; see `suiteWith`. */
export function besideRuby(name: string, suite: (world: () => World) => void): void {
  const withWorld = () => {
    let world: World
    beforeAll(async () => {
      world = new World(await startServer())
    })
    beforeEach(async () => {
      await world.redis.flushall()
    })
    afterAll(() => world.end())
    suite(() => world)
  }
  // Much of it is waiting: for Ruby to start, and for its heartbeats.
  suiteWith([redisServer, sidekiq], name, withWorld, { timeout: 180_000 })
}

async function started(worker: WorkerProcess): Promise<WorkerProcess> {
  onTestFinished(() => worker.end('SIGKILL'))
  await worker.started
  return worker
}
