/** The app: configuration, the registry of jobs, and the one place that knows all features and hands them to the worker. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import { wrap } from './activejob/wrapper.ts'
import type { DeathHandler, ErrorClass, ErrorHandler, FatalHandler, LifecycleHandler } from './app/hooks.ts'
import { Inspection } from './app/inspection.ts'
import { forget, once } from './app/once.ts'
import { checkAppOptions, type HighkiqOptions } from './app/options.ts'
import type { AppPort } from './app/port.ts'
import { type Program, programOf } from './app/program.ts'
import { Runtime } from './app/runtime.ts'
import type { TitlePiece } from './app/title.ts'
import { createBatch, createFlow, type OpenBatch, type PushedFlow } from './batches/create.ts'
import type { BatchOptions, CheckedFlow, FlowJob } from './batches/options.ts'
import {
  type PoolClientOf,
  type SqlClient,
  type SqlFunction,
  type SqlPool,
  transactThrough,
} from './client/app-transaction.ts'
import type { BulkRequest, ClientChain, Pusher, Target } from './client/client.ts'
import { Job } from './client/job.ts'
import { type PushRequest, refuseOrdered } from './client/request.ts'
import type { ActiveJobSetOptions } from './client/set-options.ts'
import { transact } from './client/transaction.ts'
import type { Cron } from './cron/crons.ts'
import type { CronRest } from './cron/entry.ts'
import { checkIterable, type IterableJob } from './iterable/definition.ts'
import { iterableHandler } from './iterable/iteration.ts'
import type { Chain } from './job/chain.ts'
import type { JobContext } from './job/context.ts'
import type { Handler, JobDefinition, JobOptions, ProcessOptions, SchemaOf, Validating } from './job/definition.ts'
import { HighkiqError } from './job/errors.ts'
import type { LimitOptions, NamedLimit } from './job/limit.ts'
import { checkText } from './job/options.ts'
import type { ContextOptions, ContextStorage } from './job/push-contexts.ts'
import type { OrderedHandler, OrderedOptions } from './ordered/definition.ts'
import { OrderedJob } from './ordered/job.ts'
import { OrderedQueue } from './ordered/queue.ts'
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
export class Highkiq extends Inspection {
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
   * Defines a job: `hq.job(name, handler)` or `hq.job(name, options, handler)`. With `validate`, the handler gets a row as
   * the schema returns it.
   * @throws INVALID_OPTION, DUPLICATE_JOB
   */
  job<Args extends unknown[], Result>(name: string, handler: Handler<Args, Result>): Job<Args, Awaited<Result>>
  job<Schema extends StandardSchemaV1, Result>(
    name: string,
    options: JobOptions & { validate: Schema },
    handler: Handler<[row: StandardSchemaV1.InferOutput<Schema>], Result>,
  ): Job<[row: StandardSchemaV1.InferOutput<Schema>], Awaited<Result>> & Validating
  job<Args extends unknown[], Result, Schema extends StandardSchemaV1 = never>(
    name: string,
    options: JobOptions & { validate?: Schema & SchemaOf<Args[0], Schema> },
    handler: Handler<Args, Result>,
  ): Job<Args, Awaited<Result>> & ([Schema] extends [never] ? unknown : Validating)
  job<Args extends unknown[], Result>(
    name: string,
    ...rest: [Handler<Args, Result>] | [JobOptions, Handler<Args, Result>]
  ): Job<Args, Awaited<Result>> {
    const [options, handler] = rest.length === 1 ? [{}, rest[0]] : rest
    this.#refuseTwice(name, this.#app.ordered.get(name))
    return this.#jobOf(this.#app.registry.define(name, options, handler as unknown as Handler<never[]>))
  }

  /**
   * Handles every class on a queue that has no job of its own: `hq.process(queue, handler)` or
   * `hq.process(queue, { concurrency, use }, handler)`. Workers that are made after it serve that queue.
   * @throws INVALID_OPTION, DUPLICATE_JOB
   */
  process<Args extends unknown[]>(queue: string, handler: Handler<Args>): this
  process<Args extends unknown[]>(queue: string, options: ProcessOptions, handler: Handler<Args>): this
  process<Args extends unknown[]>(queue: string, ...rest: [Handler<Args>] | [ProcessOptions, Handler<Args>]): this {
    const [options, handler] = rest.length === 1 ? [{} as ProcessOptions, rest[0]] : rest
    if (!this.#app.registry.replacesProcess(queue)) this.#app.refuseAfterWorker(`process ${queue}`, 'serve it')
    this.#app.registry.bind(queue, options, handler as unknown as Handler<never[]>)
    return this
  }

  /**
   * Defines a job that goes through many items and survives deploys: `hq.iterable(name, { enumerate, each, … })` or
   * `hq.iterable(name, options, { … })`.
   * @throws INVALID_OPTION, DUPLICATE_JOB
   */
  iterable<Args extends unknown[], Item, Cursor>(name: string, job: IterableJob<Args, Item, Cursor>): Job<Args, void>
  iterable<Args extends unknown[], Item, Cursor>(
    name: string,
    options: JobOptions,
    job: IterableJob<Args, Item, Cursor>,
  ): Job<Args, void>
  iterable<Args extends unknown[], Item, Cursor>(
    name: string,
    ...rest: [IterableJob<Args, Item, Cursor>] | [JobOptions, IterableJob<Args, Item, Cursor>]
  ): Job<Args, void> {
    const [options, job] = rest.length === 1 ? [{}, rest[0]] : rest
    checkIterable(name, job, options)
    // Aborts between items reach only this thread, so the job runs here.
    return this.job(name, { ...options, thread: false }, iterableHandler(this.#app, job))
  }

  /**
   * Defines an ordered queue. Payloads with the same id never run in parallel and run in the order of their scores.
   * Define it before you create a worker. Called with a name only, returns the ordered queue of that name, from any
   * app, to push to it and to inspect and change it.
   *
   * @example
   * const SyncUser = hq.ordered('SyncUser', { shards: 5 }, async (ctx, batch: Map<string, { v: number }[]>) => { … })
   * await SyncUser.performAsync([{ id: 7, payload: { v: 1 } }])
   * @throws INVALID_OPTION, DUPLICATE_JOB
   */
  ordered(name: string): OrderedQueue
  ordered<P>(name: string, handler: OrderedHandler<P>): OrderedJob<P>
  ordered<P>(name: string, options: OrderedOptions<P>, handler: OrderedHandler<P>): OrderedJob<P>
  ordered<P>(
    name: string,
    ...rest: [] | [OrderedHandler<P>] | [OrderedOptions<P>, OrderedHandler<P>]
  ): OrderedQueue | OrderedJob<P> {
    checkText('hq.ordered: the name of a queue', name)
    if (rest.length === 0) {
      const defined = this.#app.ordered.find(name)
      return new OrderedQueue(this.#app, defined?.queue ?? name, defined)
    }
    const [options = {}, handler] = rest.length === 1 ? [{}, rest[0]] : rest
    if (!this.#app.ordered.replaces(name)) this.#app.refuseAfterWorker(name, 'run it')
    this.#refuseTwice(name, this.#app.registry.get(name))
    const definition = this.#app.ordered.define(name, options as OrderedOptions, handler as OrderedHandler)
    return new OrderedJob<P>(this.#app, definition)
  }

  /**
   * Returns the job defined under this name.
   * @throws UNKNOWN_JOB (the message lists the names), INVALID_JOB for an ordered queue
   */
  jobNamed(name: string): Job {
    if (this.#app.ordered.get(name)) refuseOrdered(name)
    return this.#jobOf(this.#app.registry.named(name))
  }

  /**
   * Defines a cron entry: at each tick of `spec` (five fields, six with seconds) one worker of this app pushes the job.
   * Called with a name only, returns the entry of that name, from any app.
   *
   * @example hq.cron('nightly', '30 3 * * mon-fri', CleanUp, { timeZone: 'Europe/Berlin' })
   * @throws INVALID_OPTION, INVALID_ARGS, UNKNOWN_JOB, DUPLICATE_JOB
   */
  cron(name: string): Cron
  cron<Args extends unknown[]>(name: string, spec: string, job: Job<Args> | string, ...rest: CronRest<Args>): Cron
  cron(name: string, spec?: string, job?: Job<never[]> | string, options: object = {}): Cron {
    if (spec === undefined) return this.#app.crons.get(name)
    const named = this.jobNamed(typeof job === 'string' ? job : String(job?.name))
    if (typeof job === 'object' && named.definition !== job.definition) {
      throw new HighkiqError('UNKNOWN_JOB', `cron ${name}: the job ${job.name} is one of another app`)
    }
    return this.#app.crons.define(name, spec, typeof job === 'object' ? (job as unknown as Job) : named, options)
  }

  /**
   * Defines a limit that several jobs share (`limit: stripe`), and that handlers can use for a part of their work
   * (`stripe.within(ctx, work)`). The same definition again returns the same limit, so a handler may make it.
   *
   * @example const stripe = hq.limit('stripe', { rate: 100, per: '1s' })
   * @throws INVALID_OPTION
   */
  limit(name: string, options: LimitOptions): NamedLimit {
    return this.#app.limits.define(name, options)
  }

  /**
   * Declares a context: each push stores the current value of the storage with the job, and the job runs with that value.
   * Call it before `hq.worker`. `options.save` and `options.load` choose what is stored and how it is read.
   *
   * @example
   * const current = new AsyncLocalStorage<{ tenant: string }>()
   * hq.context('request', current)
   * @throws INVALID_OPTION
   */
  context<Value, Saved = Value>(
    name: string,
    storage: ContextStorage<Value>,
    options: ContextOptions<Value, Saved> = {},
  ): this {
    this.#app.declareContext(name, storage as ContextStorage<unknown>, options as ContextOptions<unknown, unknown>)
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
  flow<Flow extends FlowJob>(flow: CheckedFlow<Flow>): Promise<PushedFlow | null> {
    return createFlow(this.#app, flow as FlowJob)
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
   * `heartbeat` is the first beat, and the one after the store had lost the process or after a lost answer. `beat` is
   * every beat. `reopen` is SIGUSR2, for loggers. The handler gets the worker's identity, queues, concurrency and
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

  #jobOf<Args extends unknown[], Result>(definition: JobDefinition): Job<Args, Result> {
    return new Job(this.#app, definition)
  }

  #refuseTwice(name: string, other: object | undefined): void {
    if (other)
      throw new HighkiqError('DUPLICATE_JOB', `${name} is defined already: jobs and ordered queues share names`)
  }
}
