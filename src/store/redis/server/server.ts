/** The parts of the store share this: connections, keys, and the queues of tasks. */

import type { Redis } from 'ioredis'
import { HighkiqError } from '../../../job/errors.ts'
import type { MigrationPlan, SwapAnswer } from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import { Call, readTaskQueues, type TaskQueues, taskKeys, tasksOf } from './call.ts'
import { chunksOf, pairs } from './chunks.ts'
import { type Argument, Connection, type Fill, type Reply, type Script } from './connection.ts'
import { closedError } from './errors.ts'
import { FailoverWatcher } from './failover.ts'
import { type Keys, keysOf } from './keys.ts'
import { migrate, planMigration } from './migration.ts'
import { Notifier } from './notifier.ts'
import { Texts } from './texts.ts'
import type { RedisStoreOptions } from './url.ts'

/** The letters with which `move` in moves.lua answers; `far` is "too far away". */
const MOVE_ANSWERS: Record<string, SwapAnswer | 'far'> = { o: 'ok', g: 'gone', f: 'far', e: 'error' }
/** The most hashes that one script reads, so that others need not wait long for it. */
const MAX_HASHES = 500
/** How many tasks' queues this process remembers. */
const REMEMBERED_TASKS = 10_000
const REMEMBERED_PROBLEMS = 1000

export class Server {
  readonly options: RedisStoreOptions
  readonly keys: Keys
  readonly texts = new Texts()
  /** The connection for everything except settleAndFetch and blocking commands. */
  readonly main: Connection
  /** Notifies the waits for due jobs that a job may be due earlier than the others. */
  readonly due: Notifier
  readonly #warn: (message: string) => void
  /** The problems of moves that were logged. */
  readonly #problems = new Set<string>()
  readonly #taskQueues = new Map<string, TaskQueues>()
  readonly #connections = new Set<Connection>()
  readonly #failovers: FailoverWatcher
  #closed = false
  #opening: Promise<void> | undefined
  #isOpen = false

  /** `warn` gets the problems that do not end a command. */
  constructor(options: RedisStoreOptions, warn: (message: string) => void = () => {}) {
    this.options = options
    this.#warn = warn
    this.keys = keysOf(options.namespace, options.wire)
    this.main = this.connect()
    this.due = new Notifier(this, this.keys.dueChannel)
    this.#failovers = new FailoverWatcher(options, () => {
      for (const connection of this.#connections) connection.drop()
    })
  }

  get isClosed(): boolean {
    return this.#closed
  }

  /** Makes one more connection, which connects when it is first used. */
  connect(how: { blocking?: boolean; onLost?: () => void } = {}): Connection {
    if (this.#closed) throw closedError(this.options.url)
    const connection = new Connection(this.options, how)
    this.#connections.add(connection)
    return connection
  }

  disconnect(connection: Connection): void {
    this.#connections.delete(connection)
    connection.close()
  }

  close(): void {
    this.#closed = true
    this.#failovers.close()
    for (const connection of this.#connections) connection.close()
  }

  /** Opens the store if needed, and returns the main connection once it is ready. */
  async ready(): Promise<Connection> {
    if (!this.#isOpen) await this.open()
    return this.#connected()
  }

  /** Runs `work`; resolves once `waitForReplicas` replicas have all that is stored then. @throws STORE_TIMEOUT */
  async confirmedByReplicas<T>(work: () => Promise<T>): Promise<T> {
    const { waitForReplicas } = this.options
    return waitForReplicas > 0 ? (await this.ready()).replicated(waitForReplicas, this.keys.replicated, work) : work()
  }

  /** Checks the server's version and migrates the database, once. @throws STORE_UNREACHABLE, STORE_UNUSABLE, STORE_CLOSED */
  open(): Promise<void> {
    if (this.#closed) return Promise.reject(closedError(this.options.url))
    this.#opening ??= this.#open().catch((thrown) => {
      // The cause may be mended, so the next call tries again.
      this.#opening = undefined
      throw thrown
    })
    return this.#opening
  }

  /**
   * Resolves with the milliseconds by which the clock of this machine is ahead of the server's; 0 if it is not. What is removed
   * because of its age is removed by the server's clock, because other processes still need it.
   */
  async clockAhead(): Promise<number> {
    const asked = Date.now()
    const [seconds = 0, micros = 0] = await this.call((client) => client.time())
    return Math.max(asked - Number(seconds) * 1000 - Math.floor(Number(micros) / 1000), 0)
  }

  /** Runs one command on the main connection; the methods below do the same with what `Connection` can run. */
  async call<T = Reply>(work: (client: Redis) => Promise<T>): Promise<T> {
    return (await this.ready()).call(work)
  }

  async run(...script: Parameters<Connection['run']>): Promise<Reply> {
    return (await this.ready()).run(...script)
  }

  /** Runs a script that answers 1 or 0. */
  async succeeds(...script: Parameters<Connection['run']>): Promise<boolean> {
    return (await this.run(...script)) === 1
  }

  /** Reads hashes with as few commands as possible. A key of the wrong type counts as empty, or is an error. */
  async hashes(keys: readonly string[], ofWrongType: 'empty' | 'error' = 'empty'): Promise<Record<string, string>[]> {
    const chunks = [...chunksOf(keys, () => 0, MAX_HASHES)]
    const answers = await Promise.all(chunks.map((some) => this.run(lua.readHashes, some, [ofWrongType])))
    return (answers as unknown[][][]).flat().map((fields) => Object.fromEntries(pairs(fields)))
  }

  /** Reads the same fields of hashes with as few commands as possible. */
  async fields(keys: readonly string[], names: readonly string[]): Promise<(string | null)[][]> {
    const chunks = [...chunksOf(keys, () => 0, MAX_HASHES)]
    const answers = await Promise.all(chunks.map((some) => this.run(lua.readFields, some, names)))
    return (answers as (string | null)[][][]).flat()
  }

  async runForBytes(...script: Parameters<Connection['runForBytes']>): Promise<Buffer[]> {
    return (await this.ready()).runForBytes(...script)
  }

  async pipeline(...filled: Parameters<Connection['pipeline']>): ReturnType<Connection['pipeline']> {
    return (await this.ready()).pipeline(...filled)
  }

  async callAll(...sent: Parameters<Connection['callAll']>): ReturnType<Connection['callAll']> {
    return (await this.ready()).callAll(...sent)
  }

  async all(...filled: Parameters<Connection['all']>): Promise<Reply[]> {
    return (await this.ready()).all(...filled)
  }

  async readable(fill: Fill): Promise<(Reply | undefined)[]> {
    return (await this.ready()).readable(fill)
  }

  /**
   * Runs a script that begins with moves-open.lua. `keys` come after queues; `fill` adds the arguments after the
   * channel, which may name the tasks that `items` change.
   */
  async runCall(
    script: Script,
    now: number,
    keys: readonly string[],
    items: Parameters<typeof tasksOf>[0],
    fill: (call: Call) => void,
  ): Promise<Reply> {
    await this.loadTasks(tasksOf(items))
    const call = this.newCall()
    for (const key of [this.keys.queues, ...keys]) call.key(key)
    call.add(now, this.keys.dueChannel)
    fill(call)
    return this.run(script, call.keys, call.args)
  }

  /** Runs a script that moves jobs, as `runCall` does, and logs each of its problems once. Returns an answer for each job. */
  async moveJobs<More = never>(...call: Parameters<Server['runCall']>): Promise<(SwapAnswer | More)[]> {
    const [letters, problems] = (await this.runCall(...call)) as [string, string]
    for (const problem of problems.split('\n')) {
      if (problem === '' || this.#problems.has(problem)) continue
      // A problem may name a job, so there is no end of them.
      if (this.#problems.size >= REMEMBERED_PROBLEMS) this.#problems.clear()
      this.#problems.add(problem)
      this.#warn(problem)
    }
    return Array.from(letters, (letter) => MOVE_ANSWERS[letter] as SwapAnswer | More)
  }

  newCall(): Call {
    return new Call(this.keys, this.texts, (task) => this.#taskQueues.get(task))
  }

  /** Reads the queues of tasks, so that a call can name their keys. */
  async loadTasks(tasks: Iterable<string>): Promise<void> {
    let unknown: Set<string> | undefined
    for (const id of tasks) {
      const queues = this.#taskQueues.get(id)
      if (queues === undefined) {
        unknown ??= new Set()
        unknown.add(id)
      } else if (this.#taskQueues.size >= REMEMBERED_TASKS / 2) {
        // A task that is used moves to the end, so that this call does not forget it.
        this.#taskQueues.delete(id)
        this.#taskQueues.set(id, queues)
      }
    }
    if (!unknown) return
    const ids = [...unknown]
    const values = await this.call((client) => client.hmget(this.keys.tasks, ...ids))
    for (const [i, id] of ids.entries()) {
      const value = values[i]
      if (typeof value === 'string') this.#taskQueues.set(id, readTaskQueues(value))
    }
    for (const oldest of this.#taskQueues.keys()) {
      if (this.#taskQueues.size <= REMEMBERED_TASKS) break
      this.#taskQueues.delete(oldest)
    }
  }

  queuesOf(task: string): TaskQueues | undefined {
    return this.#taskQueues.get(task)
  }

  /** Returns a task's queue, and its keys in the order of ledger.lua; undefined when there is no such task. */
  async findTask(id: string): Promise<{ queue: string; keys: string[] } | undefined> {
    await this.loadTasks([id])
    const queues = this.#taskQueues.get(id)
    return queues && { queue: queues.queue, keys: taskKeys(this.keys, queues, id) }
  }

  /** Runs a script that begins with task-open.lua. Returns undefined when there is no such task. */
  async runOnTask(id: string, script: Script, args: readonly Argument[], ...more: string[]) {
    const found = await this.findTask(id)
    if (!found) return undefined
    return this.run(script, [...found.keys, this.keys.queues, this.keys.producers(found.queue), ...more], args)
  }

  /** Returns what opening would do to the keys. */
  async planMigration(): Promise<MigrationPlan> {
    const connection = this.connect()
    try {
      await connection.ready()
      return await planMigration(connection, this.keys, this.options.url)
    } finally {
      this.disconnect(connection)
    }
  }

  /** Forgets the queues of a deleted task: another task may get its id. */
  forgetTask(task: string): void {
    this.#taskQueues.delete(task)
  }

  async #connected(): Promise<Connection> {
    if (this.#closed) throw closedError(this.options.url)
    if (!this.main.isReady) {
      this.#failovers.start()
      await this.main.ready()
    }
    return this.main
  }

  async #open(): Promise<void> {
    const main = await this.#connected()
    try {
      const [[, info], [refused, schema]] = (await main.pipeline((pipeline) =>
        pipeline.info('server').get(this.keys.schema),
      )) as [[Error | null, string | undefined], [Error | null, string | null]]
      // A server that hides its version passes.
      checkVersion(this.options.url, info ?? '')
      if (refused) throw main.explain(refused)
      await migrate(main, this.keys, this.options, schema, this.#warn)
    } catch (thrown) {
      throw unsent(thrown)
    }
    this.#isOpen = true
    if (this.options.cluster) {
      this.#warn(
        `${this.options.url}: all keys begin with ${this.keys.prefix}, as a Redis Cluster requires, so clients of Sidekiq do not see the jobs`,
      )
    }
  }
}

export abstract class StorePart {
  protected readonly server: Server
  protected readonly keys: Keys

  constructor(server: Server) {
    this.server = server
    this.keys = server.keys
  }
}

/** @throws STORE_UNUSABLE */
function checkVersion(url: string, info: string): void {
  const [, version = ''] = /redis_version:([\d.]+)/.exec(info) ?? []
  const [major = 99, minor = 0] = version === '' ? [] : version.split('.').map(Number)
  if (major < 6 || (major === 6 && minor < 2)) {
    throw new HighkiqError('STORE_UNUSABLE', `${url} is Redis ${version}: 6.2 or newer is needed (or Valkey)`)
  }
}

/** Returns an error of opening as that of a command that was not sent, because its caller's command was not. */
function unsent(thrown: unknown): unknown {
  if (!(thrown instanceof HighkiqError) || thrown.details?.sent !== true) return thrown
  return new HighkiqError(thrown.code, thrown.message, { ...thrown.details, sent: false }, { cause: thrown.cause })
}
