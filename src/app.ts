/** The app: its pushes, its workers and its handlers. Its base classes define jobs, and read and change the store. */

import { wrap } from './activejob/wrapper.ts'
import { Definitions } from './app/definitions.ts'
import type { DeathHandler, ErrorClass, ErrorHandler, FatalHandler, LifecycleHandler } from './app/hooks.ts'
import { forget, once } from './app/once.ts'
import { checkAppOptions, type HighkiqOptions } from './app/options.ts'
import type { AppPort } from './app/port.ts'
import { type Program, programOf } from './app/program.ts'
import { Runtime } from './app/runtime.ts'
import type { TitlePiece } from './app/title.ts'
import { createBatch, createFlow, type OpenBatch, type PushedFlow } from './batches/create.ts'
import type { BatchOptions, CheckedFlow, FlowJob, FlowOptions } from './batches/options.ts'
import {
  type PoolClientOf,
  type SqlClient,
  type SqlFunction,
  type SqlPool,
  transactThrough,
} from './client/app-transaction.ts'
import { Job } from './client/job.ts'
import type { BulkRequest, ClientChain, Pusher, Target } from './client/pusher.ts'
import type { PushRequest } from './client/request.ts'
import type { ActiveJobSetOptions } from './client/set-options.ts'
import { transact } from './client/transaction.ts'
import type { Chain } from './job/chain.ts'
import type { JobContext } from './job/context.ts'
import type { SqlConnection } from './store/contract.ts'
import type { Lifecycle } from './worker/engine.ts'
import type { Worker } from './worker/lifecycle/worker.ts'
import type { WorkerOptions } from './worker/options.ts'
import { PROGRAM, threadApps } from './worker/threads/inside.ts'

export type { DeathHandler, ErrorClass, ErrorHandler, FatalHandler, LifecycleHandler } from './app/hooks.ts'
export type { FileOptions, HighkiqOptions } from './app/options.ts'
export type { TitlePiece } from './app/title.ts'
export { PROGRAM }

/** Marks an app, also one of another copy of this package. */
const APP: unique symbol = Symbol.for('highkiq.app')

/** The inside of an app, for highkiq/testing. */
export const PORT: unique symbol = Symbol.for('highkiq.port')

/** Whether a value (say, what a jobs file exports) is an app. */
export function isApp(value: unknown): value is Highkiq {
  return typeof value === 'object' && value !== null && APP in value
}

/**
 * One object for everything: define jobs on it, push them, make workers. Nothing is opened before it is needed, and two
 * apps in one process know nothing of each other.
 *
 * @example
 * export const hq = new Highkiq()
 * export const HardJob = hq.job('HardJob', async (ctx, name: string) => { ctx.log.info({ name }, 'working hard') })
 * await HardJob.performAsync('bob')
 */
export class Highkiq extends Definitions {
  readonly [APP] = true
  readonly #app: Runtime
  /** Middleware around each push. It returns the payload to push. */
  readonly client: ClientChain
  /** Middleware around each run. */
  readonly server: Chain<JobContext, unknown>
  /** The settings of a configuration file that Highkiq itself does not know. `highkiq work` reads the file. */
  readonly settings: Readonly<Record<string, unknown>>
  /** @internal */
  readonly [PORT]: AppPort
  /** @internal */
  readonly [PROGRAM]: Program

  /** @throws INVALID_OPTION */
  constructor(options: HighkiqOptions = {}) {
    checkAppOptions(options)
    const app = new Runtime(options)
    super(app)
    this.#app = app
    this[PORT] = app
    this.client = app.client.chain
    this.server = app.server
    this.settings = app.setup.custom
    this[PROGRAM] = programOf(app)
    threadApps()?.add(this)
  }

  /**
   * Returns the app of this name in this process; `make` creates it at the first call, and again after `hq.close()`. For
   * modules that are evaluated several times: after each edit in development, or in several bundles of one server. A
   * definition on it replaces the one of the same name, also for workers. @throws INVALID_OPTION, what `make` throws
   * @example export const hq = Highkiq.once('app', () => new Highkiq())
   */
  static once(name: string, make: () => Highkiq): Highkiq {
    const app = once(name, make, isApp)
    app[PORT].allowRedefinition()
    return app
  }

  /** Adds a piece to the title that `highkiq work` shows in ps; undefined adds none. */
  processTitle(piece: TitlePiece): this {
    this.#app.title.add(piece)
    return this
  }

  /**
   * Creates a batch of the jobs that `work` pushes, and all that it calls and awaits. They are stored in one step after it; when
   * it throws, nothing is stored. The batch pushes its callbacks when the jobs have ended.
   *
   * @example
   * const bid = await hq.batch({ onSuccess: Report }, async () => {
   *   for (const id of ids) await ImportUser.performAsync(id)
   * })
   * @returns its bid; @throws what `work` throws, INVALID_OPTION, PushError
   */
  batch(options: BatchOptions, work: (batch: OpenBatch) => unknown): Promise<string> {
    return createBatch(this.#app, options, work)
  }

  /**
   * Pushes a tree of jobs: a job runs when its children have succeeded, and reads their results with `ctx.children()`.
   *
   * @example
   * await hq.flow({ job: Publish, children: [{ job: Render, args: ['a'] }, { job: Render, args: ['b'] }] })
   * @returns the jid of the job that runs last, and the batch of its children; null when client middleware stopped a job, and
   * nothing is stored. @throws INVALID_OPTION, INVALID_ARGS, PushError
   */
  flow<Flow extends FlowJob>(flow: CheckedFlow<Flow>, options?: FlowOptions): Promise<PushedFlow | null> {
    return createFlow(this.#app, flow as FlowJob, options)
  }

  /** Pushes any class, also one that only another program knows. @returns its id; null when middleware stopped it */
  push(request: PushRequest): Promise<string | null> {
    return this.#app.client.push(request)
  }

  /**
   * A job of a Rails app: what is pushed through it is wrapped for Rails' ActiveJob. Its arguments may be made with
   * `highkiq/activejob`.
   *
   * @example await hq.activeJob('ThumbnailJob').set({ queue: 'media' }).performIn('5m', gid('gid://shop/Picture/7'))
   */
  activeJob<Args extends unknown[] = unknown[]>(name: string): Job<Args, unknown, ActiveJobSetOptions> {
    const definition = this.#app.registry.get(name) ?? { name, options: {}, handler: () => {} }
    const { queue = this.#app.setup.options.defaultJobOptions?.queue ?? 'default' } = definition.options
    const wrapped = (request: PushRequest) => wrap(request, { queue, wire: this.#app.client.wire, now: this.now() })
    return new Job(this.#app, definition, { wrap: wrapped, members: ['priority'] })
  }

  /** Pushes many of a class. @returns an id for each, in their order, null where middleware stopped one */
  pushBulk(request: BulkRequest): Promise<(string | null)[]> {
    return this.#app.client.pushBulk(request)
  }

  /**
   * Pushes this app's jobs to another store – of a URL, or of another app –, or makes all that `work` and what it awaits
   * push go there. This app's definitions and client middleware apply.
   *
   * @example await hq.via('redis://eu').push({ class: 'HardJob', args: [] })
   */
  via(target: Target): Pusher
  via<T>(target: Target, work: () => T): T
  via<T>(target: Target, work?: () => T): Pusher | T {
    const client = this.#app.client.via(target)
    return work ? this.#app.client.within(client, work) : client
  }

  /**
   * On SQLite: runs `work` once, at once, in a write transaction. It gets the driver's own connection (of `node:sqlite` or
   * `libsql`), for statements on tables of your own in the same file; what it pushes is stored in the same commit. If it
   * throws, or a push in it is refused, nothing of all that is stored.
   * @throws what `work` throws; NO_TRANSACTION on other stores; INVALID_OPTION for a function that is asynchronous
   *
   * @example await hq.transaction((db) => { db.prepare('INSERT …').run(7); HardJob.performAsync(7) })
   */
  transaction<T, Connection = SqlConnection>(work: (db: Connection) => T): Promise<T>
  /**
   * On PostgreSQL, with a pool of `pg`: runs `work` in a transaction on one of its clients. What `work`, and all that it calls and
   * awaits, pushes is stored through that client when `work` has resolved, and then committed. If `work` throws, or a push
   * in it is refused, everything is rolled back.
   * @throws what `work` throws; UNIQUE_CONFLICT, QUEUE_FULL; NO_TRANSACTION on other stores; PushError when the answer to the COMMIT is
   * lost, so that all of it is stored, or nothing
   *
   * @example await hq.transaction(pool, async (client) => { await client.query('INSERT …'); await HardJob.performAsync(7) })
   */
  transaction<T, Pool extends SqlPool>(pool: Pool, work: (client: PoolClientOf<Pool>) => T): Promise<Awaited<T>>
  /**
   * On PostgreSQL, with a connection of your own, on which you have begun a transaction and will commit it: what `work`, and all
   * that it calls and awaits, pushes is stored through that connection when `work` has resolved. If `work` throws, nothing is stored
   * through it. Commit soon after it. The connection is a client of `pg`, or a function that runs a statement.
   * @throws what `work` throws; UNIQUE_CONFLICT, QUEUE_FULL, STORE_TIMEOUT, after which your transaction is as before; NO_TRANSACTION on
   * other stores, or when none is open
   *
   * @example await hq.transaction(client, () => HardJob.performAsync(7))
   */
  transaction<T>(client: SqlClient | SqlFunction, work: () => T): Promise<Awaited<T>>
  transaction(first: unknown, work?: unknown): Promise<unknown> {
    if (work === undefined) return transact(this.#app, first as () => unknown)
    return transactThrough(this.#app, first as SqlClient, work as () => unknown)
  }

  /** Creates a worker for the jobs of this app. Start it with `start()` or `run()`. @throws INVALID_OPTION */
  worker(options: WorkerOptions = {}): Worker {
    return this.#app.worker(options)
  }

  /**
   * Registers a lifecycle handler. Handlers of the stop events (`quiet`, `shutdown`, `exit`) run in reverse order.
   * `heartbeat` is the first heartbeat, and the one after the store had lost the process or after a lost answer. `beat` is
   * every heartbeat. `reopen` is SIGUSR2, for loggers. The handler gets the worker's identity, queues, concurrency and
   * orderedConcurrency.
   * @throws INVALID_OPTION
   */
  on(event: Lifecycle, handler: LifecycleHandler): this {
    this.#app.hooks.on(event, handler)
    return this
  }

  /**
   * Makes errors of these classes business failures: recorded as `failed`, not retried, not counted as errors.
   * @throws INVALID_OPTION
   */
  businessErrors(...classes: ErrorClass[]): this {
    this.#app.hooks.addBusinessErrors(classes)
    return this
  }

  /**
   * Registers a handler for all errors, of jobs and of Highkiq itself. Without a handler they are logged. The error is
   * unknown, because JavaScript can throw anything: ask `error instanceof Error`.
   */
  onError(handler: ErrorHandler): this {
    this.#app.hooks.error.push(handler)
    return this
  }

  /**
   * Registers a handler that runs last when an uncaught error ends `worker.run()`. By then the worker fetches no more
   * jobs, running jobs have had `timeout` seconds, and the rest is requeued. The handler gets the error, which is
   * unknown as in `onError`, and, like those of `on`, the properties of the worker. Then the process exits with 1.
   */
  onFatal(handler: FatalHandler): this {
    this.#app.hooks.fatal.push(handler)
    return this
  }

  /**
   * Registers a handler for jobs that will not run again: they used up their retries, crashed too often, threw `Kill`
   * or `Discard`, or were killed with `notify`. It also runs for each id of an ordered queue that dies. It does not run
   * for cancelled jobs. The error is unknown, as in `onError`.
   */
  onDeath(handler: DeathHandler): this {
    this.#app.hooks.death.push(handler)
    return this
  }

  /**
   * Stops the workers of this app gracefully, like `worker.stop()`, all at the same time: running jobs get the `timeout` of
   * their worker. Then it closes the store, and later calls are refused. A handler that awaits it waits for itself.
   */
  async close(): Promise<void> {
    const [failure] = await this.#app.stop()
    await this.#app.setup.close()
    await this.#app.client.close()
    forget(this)
    if (failure !== undefined) throw failure
  }
}
