/** What all parts of the store share: its connections, its keys, and where a task lies. */

import { HighkiqError } from '../../../job/errors.ts'
import { Call, readTaskQueues, type TaskQueues, taskKeys } from './call.ts'
import { Connection, closedError } from './connection.ts'
import { FailoverWatcher } from './failover.ts'
import { type Keys, keysOf } from './keys.ts'
import { Texts } from './texts.ts'
import type { RedisStoreOptions } from './url.ts'

/** Tasks whose place is remembered. */
const REMEMBERED_TASKS = 10_000

export class Server {
  readonly options: RedisStoreOptions
  readonly keys: Keys
  readonly texts = new Texts()
  /** For everything that is not a worker's turn. */
  readonly main: Connection
  readonly #places = new Map<string, TaskQueues>()
  readonly #connections = new Set<Connection>()
  readonly #failovers: FailoverWatcher
  #closed = false
  #checked: Promise<void> | undefined

  constructor(options: RedisStoreOptions) {
    this.options = options
    this.keys = keysOf(options.namespace, options.wire)
    this.main = this.connect()
    this.#failovers = new FailoverWatcher(options, () => {
      for (const connection of this.#connections) connection.drop()
    })
  }

  get isClosed(): boolean {
    return this.#closed
  }

  /** One more connection; it connects when it is first needed. */
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

  /** The main connection, ready. */
  async ready(): Promise<Connection> {
    if (this.#closed) throw closedError(this.options.url)
    if (!this.main.isReady) {
      this.#failovers.start()
      await this.main.ready()
    }
    return this.main
  }

  /**
   * Runs commands that store jobs; with `waitForReplicas` it resolves once as many replicas have them.
   * @throws STORE_TIMEOUT
   */
  async storing<T>(work: () => Promise<T>): Promise<T> {
    const { waitForReplicas } = this.options
    return waitForReplicas > 0 ? (await this.ready()).replicated(waitForReplicas, work) : work()
  }

  /** Once, as soon as it can be asked. @throws STORE_UNREACHABLE, STORE_UNUSABLE, STORE_CLOSED */
  check(): Promise<void> {
    this.#checked ??= this.#check().catch((thrown) => {
      // What was wrong may be mended: the next one tries again.
      this.#checked = undefined
      throw thrown
    })
    return this.#checked
  }

  call(): Call {
    return new Call(this.keys, this.texts, (task) => this.#places.get(task))
  }

  /** Learns where tasks lie, so that a call can name their keys. */
  async loadTasks(tasks: Iterable<string>): Promise<void> {
    let unknown: Set<string> | undefined
    for (const id of tasks) {
      const place = this.#places.get(id)
      if (place === undefined) {
        unknown ??= new Set()
        unknown.add(id)
      } else if (this.#places.size >= REMEMBERED_TASKS / 2) {
        // Used again: what this call needs is not forgotten for others.
        this.#places.delete(id)
        this.#places.set(id, place)
      }
    }
    if (!unknown) return
    const ids = [...unknown]
    const main = await this.ready()
    const places = await main.call((client) => client.hmget(this.keys.tasks, ...ids))
    for (const [i, id] of ids.entries()) {
      const place = places[i]
      if (typeof place === 'string') this.#places.set(id, readTaskQueues(place))
    }
    for (const oldest of this.#places.keys()) {
      if (this.#places.size <= REMEMBERED_TASKS) break
      this.#places.delete(oldest)
    }
  }

  queuesOf(task: string): TaskQueues | undefined {
    return this.#places.get(task)
  }

  /** A task's queue, and its keys as the ledger wants them; undefined: there is no such task (any more). */
  async findTask(id: string): Promise<{ queue: string; keys: string[] } | undefined> {
    await this.loadTasks([id])
    const place = this.#places.get(id)
    return place && { queue: place.queue, keys: taskKeys(this.keys, place, id) }
  }

  /** Its id may be given to another. */
  forgetTask(task: string): void {
    this.#places.delete(task)
  }

  async #check(): Promise<void> {
    if (this.#closed) throw closedError(this.options.url)
    const main = await this.ready()
    // A server that hides this command is believed to be new enough.
    const info = await main.call((client) => client.info('server')).catch(() => '')
    const [, version = ''] = /redis_version:([\d.]+)/.exec(info) ?? []
    const [major = 99, minor = 0] = version === '' ? [] : version.split('.').map(Number)
    if (major < 6 || (major === 6 && minor < 2)) {
      throw new HighkiqError(
        'STORE_UNUSABLE',
        `${this.options.url} is Redis ${version}: 6.2 or newer is needed (or Valkey)`,
      )
    }
  }
}
