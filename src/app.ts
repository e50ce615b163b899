/** The app: configuration, the registry of jobs, and the one place that knows all features and hands them to the worker. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import { wrap } from './activejob/wrapper.ts'
import type { DeathHandler, ErrorClass, ErrorHandler, FatalHandler, LifecycleHandler } from './app/hooks.ts'
import { checkAppOptions, type HighkiqOptions } from './app/options.ts'
import type { AppPort } from './app/port.ts'
import { Runtime } from './app/runtime.ts'
import type { Setup } from './app/setup.ts'
import { Title, type TitlePiece } from './app/title.ts'
import { accessTo, Batches } from './batches/batches.ts'
import { createBatch, createFlow, type OpenBatch, type PushedFlow } from './batches/create.ts'
import type { BatchOptions, FlowJob } from './batches/options.ts'
import { type CancelAnswer, type CancelOptions, cancelJob } from './cancellation/cancel.ts'
import type { BulkRequest, ClientChain, Pusher, Target } from './client/client.ts'
import { Job } from './client/job.ts'
import { type PushRequest, refuseOrdered } from './client/request.ts'
import type { ActiveJobSetOptions } from './client/set-options.ts'
import { transact } from './client/transaction.ts'
import type { Cron, CronInfo } from './cron/crons.ts'
import type { CronRest } from './cron/entry.ts'
import { JobEvents, type JobEventsOptions } from './events/events.ts'
import { duplicateJob, editJob } from './inspect/edit.ts'
import type { SetEntry } from './inspect/entry.ts'
import { type Found, findJob } from './inspect/find.ts'
import { type LimitInfo, limitInfos } from './inspect/limits.ts'
import { ProcessSet } from './inspect/process.ts'
import { Queue, type QueuedJob, type QueueSummary, summariesOf } from './inspect/queue.ts'
import { type ResultOptions, resultOf } from './inspect/result.ts'
import { RunningSet } from './inspect/running.ts'
import { JobSet } from './inspect/set.ts'
import { type Day, historyOf, type Stats, statsOf } from './inspect/stats.ts'
import { checkIterable, type IterableJob } from './iterable/definition.ts'
import { type IterationInfo, iterationOf } from './iterable/info.ts'
import { iterableHandler } from './iterable/iteration.ts'
import type { Chain } from './job/chain.ts'
import type { JobContext } from './job/context.ts'
import type { Handler, JobDefinition, JobOptions, ProcessOptions } from './job/definition.ts'
import { HighkiqError, invalidOption } from './job/errors.ts'
import type { LimitOptions, NamedLimit } from './job/limit.ts'
import type { Logger } from './job/logger.ts'
import { checkText } from './job/options.ts'
import { baseQueue, isPriorityName } from './job/priority.ts'
import type { ContextOptions, ContextStorage } from './job/push-contexts.ts'
import type { Jid } from './job/result.ts'
import { markDeploy } from './metrics/deploy.ts'
import { Metrics } from './metrics/metrics.ts'
import type { OrderedHandler, OrderedOptions } from './ordered/definition.ts'
import { OrderedJob } from './ordered/job.ts'
import { OrderedQueue } from './ordered/queue.ts'
import { type OrderedTotals, orderedTotals } from './ordered/totals.ts'
import type { SqlConnection, Store } from './store/contract.ts'
import type { TaskEvent } from './tasks/event.ts'
import { Tasks } from './tasks/tasks.ts'
import { releaseUniqueLock, type UniqueLockInfo, uniqueLockOf, uniqueLocks } from './unique/locks.ts'
import type { Lifecycle } from './worker/engine.ts'
import type { Worker } from './worker/lifecycle/worker.ts'
import type { WorkerOptions } from './worker/options.ts'
import { PROGRAM, type ThreadApp, threadApps } from './worker/threads/inside.ts'

export type { DeathHandler, ErrorClass, ErrorHandler, FatalHandler, LifecycleHandler } from './app/hooks.ts'
export type { FileOptions, HighkiqOptions } from './app/options.ts'
export type { TitlePiece } from './app/title.ts'
export { PROGRAM }

/** Marks an app, also one of another copy of this package. */
const APP: unique symbol = Symbol.for('highkiq.app')

/** The inside of an app, for highkiq/testing. */
export const PORT: unique symbol = Symbol.for('highkiq.port')

/** Methods for programs that load an app (CLI, demo, tests), in addition to the public ones. */
export type Program = ThreadApp[typeof PROGRAM] &
  Pick<Setup, 'useFiles' | 'useFile'> & {
    /**
     * Drains the store at `url`: workers made after this call run its jobs and leave cron entries alone. New jobs go to
     * the app's own store.
     * @throws INVALID_OPTION if both are the same store
     */
    drain(url: string): void
    /** A process title with the pieces that were added to it. */
    titleOf(title: string): string
    /** Whether an ordered queue of that name is defined here. */
    isOrdered(name: string): boolean
    /** All jobs that are defined here, as they were defined. */
    jobs(): JobDefinition[]
  }

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
export class Highkiq {
  readonly [APP] = true
  readonly #app: Runtime
  /** Middleware around each push. It returns the payload to push. */
  readonly client: ClientChain
  /** Middleware around each run. */
  readonly server: Chain<JobContext, unknown>
  /** Tracked tasks: imports, exports, and many jobs as one. */
  readonly tasks: Tasks
  /** Batches of jobs, and flows. */
  readonly batches: Batches
  /** The settings of a configuration file that Highkiq itself does not know. `highkiq work` reads the file. */
  readonly settings: Readonly<Record<string, unknown>>
  /** The jobs that ended, by class and time. */
  readonly metrics: Metrics
  /** Jobs that failed and will run again, by the time they are due. */
  readonly retries: JobSet
  /** Jobs that run later, by the time they are due. */
  readonly scheduled: JobSet
  /** Jobs that used up their retries, by the time they died. */
  readonly dead: JobSet
  /** Jobs that are done, by the time they finished: those with `keepFinished`. */
  readonly finished: JobSet
  readonly [PORT]: AppPort
  readonly [PROGRAM]: Program
  readonly #title = new Title()

  /** @throws INVALID_OPTION */
  constructor(options: HighkiqOptions = {}) {
    checkAppOptions(options)
    const app = new Runtime(options)
    const { client, hooks, ordered, registry, server, setup } = app
    this.#app = app
    this[PORT] = app
    this.client = client.chain
    this.server = server
    this.settings = setup.custom
    this.retries = new JobSet(app, 'retry')
    this.scheduled = new JobSet(app, 'schedule')
    this.dead = new JobSet(app, 'dead')
    this.finished = new JobSet(app, 'finished')
    this.tasks = new Tasks(app)
    this.batches = new Batches(app)
    this.metrics = new Metrics(app)
    this[PROGRAM] = {
      useUrl: (url) => setup.useUrl(url),
      drain: (url) => {
        const own = setup.drain(url)
        client.divert(own)
        this.log.info({ store: url, newJobs: own.url }, `draining ${this.store.url}: new jobs go to ${own.url}`)
      },
      useFiles: (files) => setup.useFiles(files),
      useFile: (about, custom) => setup.useFile(about, custom),
      refuseStore: (why) => setup.refuseStore(why),
      titleOf: (title) => this.#title.of(title),
      isOrdered: (name) => ordered.get(name) !== undefined,
      jobs: () => registry.jobs,
      definitionOf: (name, queue) => registry.of(name, queue),
      batches: accessTo(app),
      isBusiness: (error) => hooks.isBusiness(error),
      within: app.within,
    }
    threadApps()?.add(this)
  }

  /** The store; opened at first use. @throws UNKNOWN_STORE, INVALID_OPTION */
  get store(): Store {
    return this.#app.store
  }

  get log(): Logger {
    return this.#app.log
  }

  now(): number {
    return this.#app.now()
  }

  /** Adds a piece to the title that `highkiq work` shows in ps; undefined adds none. */
  processTitle(piece: TitlePiece): this {
    this.#title.add(piece)
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
  ): Job<[row: StandardSchemaV1.InferOutput<Schema>], Awaited<Result>>
  job<Args extends unknown[], Result>(
    name: string,
    options: JobOptions,
    handler: Handler<Args, Result>,
  ): Job<Args, Awaited<Result>>
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
    if (this.#app.hasWorkers) {
      throw invalidOption(`process ${queue}: call it before hq.worker, because a worker that exists does not serve it`)
    }
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
    if (this.#app.hasWorkers) {
      throw invalidOption(`${name}: call it before hq.worker, because a worker that exists does not run it`)
    }
    this.#refuseTwice(name, this.#app.registry.get(name))
    const definition = this.#app.ordered.define(name, options as OrderedOptions, handler as OrderedHandler)
    return new OrderedJob<P>(this.#app, definition)
  }

  /** The names of all ordered queues in the store, in order. */
  orderedQueues(): Promise<string[]> {
    return this.store.ordered.queues()
  }

  /**
   * Returns the last saved progress of an iterable job; null before its first save or cancellation, and after its end.
   */
  async iteration(jid: string): Promise<IterationInfo | null> {
    checkText('hq.iteration: a jid', jid)
    return iterationOf(this.store, jid)
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
   * (`stripe.within(ctx, work)`).
   *
   * @example const stripe = hq.limit('stripe', { rate: 100, per: '1s' })
   * @throws INVALID_OPTION
   */
  limit(name: string, options: LimitOptions): NamedLimit {
    return this.#app.defineLimit(name, options)
  }

  /** Returns the limits that have used slots or waiting jobs, by name. */
  limits(): Promise<LimitInfo[]> {
    return limitInfos(this.store)
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
  flow(job: FlowJob): Promise<PushedFlow | null> {
    return createFlow(this.#app, job)
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
   * @throws what `work` throws; NO_TRANSACTION on Redis; INVALID_OPTION for a function that is asynchronous
   *
   * @example await hq.transaction((db) => { db.prepare('INSERT …').run(7); HardJob.performAsync(7) })
   */
  transaction<T, Connection = SqlConnection>(work: (db: Connection) => T): Promise<T> {
    return transact(this.#app, work as (db: unknown) => T)
  }

  /**
   * Cancels a job in any process: removes it if it waits, aborts `ctx.signal` if it runs. See CancelAnswer.
   * @throws INVALID_OPTION
   */
  cancel(jid: string, options?: CancelOptions): Promise<CancelAnswer> {
    return cancelJob(this.#app, jid, options)
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

  /** Registers a handler for all errors, of jobs and of Highkiq itself. Without a handler they are logged. */
  onError(handler: ErrorHandler): this {
    this.#app.hooks.error.push(handler)
    return this
  }

  /**
   * Registers a handler that runs last when an uncaught error ends `worker.run()`. By then the worker fetches no more
   * jobs, running jobs have had `timeout` seconds, and the rest is requeued. The handler gets the error and, like those
   * of `on`, the properties of the worker. Then the process exits with 1.
   */
  onFatal(handler: FatalHandler): this {
    this.#app.hooks.fatal.push(handler)
    return this
  }

  /**
   * Registers a handler for jobs that will not run again: they used up their retries, crashed too often, threw `Kill`
   * or `Discard`, or were killed with `notify`. It also runs for each id of an ordered queue that dies. It does not run
   * for cancelled jobs.
   */
  onDeath(handler: DeathHandler): this {
    this.#app.hooks.death.push(handler)
    return this
  }

  // -------------------------------------------------------------------------- Inspecting and changing the store

  /**
   * Waits for the result of a job with `keepResult`, or of a task row, and returns it. The store notifies the waiting
   * process of a job's result; the event of a row is read again at growing intervals, up to one second.
   * @param jid the id that a push returned; null (client middleware stopped the push) has no result
   * @throws JOB_FAILED when the job will not run again, NO_RESULT when there is no result in time (default 60 seconds)
   */
  async result<Result = unknown>(jid: Jid<Result> | string | null, options: ResultOptions = {}): Promise<Result> {
    return (await resultOf(this.store, jid, options)) as Result
  }

  /**
   * Returns the events of jobs in all processes, from now on or behind `after`, for `for await`. A recording begins with the
   * first reader and ends an hour after the last one.
   *
   * @example for await (const { kind, jid } of hq.events({ jobs: ['HardJob'], kinds: ['died'] })) { … }
   * @throws INVALID_OPTION; the loop throws EVENTS_TRIMMED when the next event is not kept any more
   */
  events(options: JobEventsOptions = {}): JobEvents {
    return new JobEvents(this.#app, options)
  }

  async stats(): Promise<Stats & { ordered: OrderedTotals }> {
    const now = this.now()
    const [stats, ordered] = await Promise.all([statsOf(this.store, now), orderedTotals(this.store, now)])
    return { ...stats, ordered }
  }

  /** Resets the totals, or one of them, to zero. Daily figures stay. */
  async resetStats(...which: ('processed' | 'failed')[]): Promise<void> {
    for (const one of which.length > 0 ? which : (['processed', 'failed'] as const))
      await this.store.metrics.resetTotals(one)
  }

  /**
   * Processed and failed of each UTC day, newest first: today and the days before, or those before `from`.
   * @throws INVALID_OPTION: days is 1 to 1825
   */
  async history(days = 30, from: Date | string = new Date(this.now())): Promise<Day[]> {
    return historyOf(this.store, days, from)
  }

  /** Returns the queue of this name; it may be empty. @throws INVALID_OPTION for the name of a priority */
  queue(name: string): Queue {
    checkText('hq.queue: the name of a queue', name)
    if (isPriorityName(name)) {
      const base = baseQueue(name)
      throw invalidOption(
        `hq.queue: ${name} is a priority of queue ${base}: use hq.queue('${base}'), which has the jobs of all priorities`,
      )
    }
    return new Queue(this.#app, name)
  }

  /** All queues, by name. */
  async *queues(): AsyncGenerator<Queue> {
    for (const { name } of await this.store.jobs.queues()) yield this.queue(name)
  }

  /** Returns name, size, latency (seconds) and `paused` of all queues, including empty paused ones, in one call. */
  async queueSummaries(): Promise<QueueSummary[]> {
    return summariesOf(this.store, this.now())
  }

  /** Returns the running worker processes, Highkiq's and Sidekiq's, by identity. */
  processes(): ProcessSet {
    return new ProcessSet(this.#app)
  }

  /** Returns the jobs that run now, longest first, as of the last heartbeats. */
  running(): RunningSet {
    return new RunningSet(this.#app)
  }

  /**
   * Gives a job of a queue or a job set other arguments, and changes nothing else; a job of a queue goes to its end.
   * `job` is its jid, or the job as it was read: then the edit applies only to this unchanged job. In a job with
   * `encrypt`, the last argument `'[encrypted]'` keeps the one that it has. Resolves with false if the job has moved.
   * @throws UNKNOWN_JID, INVALID_ARGS, ARGS_TOO_LARGE; INVALID_JOB for a row of a task and a job of Active Job
   */
  edit(job: string | SetEntry | QueuedJob, args: unknown[]): Promise<boolean> {
    return editJob(this.#app, job, args)
  }

  /**
   * Pushes a new job with the class, arguments and options of a waiting or dead one, due now. The other one stays.
   * @returns its id; null when client middleware stopped it
   * @throws UNKNOWN_JID, DECRYPTION_FAILED; INVALID_JOB for a row of a task; errors of a push
   */
  duplicate(job: string | SetEntry | QueuedJob): Promise<string | null> {
    return duplicateJob(this.#app, job)
  }

  /** Finds a job: its state, its payload, and its event if it belongs to a task. Slow among millions of jobs. */
  async find(jid: string, options: { signal?: AbortSignal } = {}): Promise<Found & { event: TaskEvent | null }> {
    checkText('hq.find: a jid', jid)
    const found = await findJob(this.#app, jid, options)
    return { ...found, event: await this.tasks.event(jid) }
  }

  /**
   * Marks a deploy in the charts, at this minute or at a Date. Several processes may call it at the same time.
   * @param label default: git's last commit, hash and subject
   * @returns false: the label was marked within the last minute, or this minute is marked
   * @throws INVALID_OPTION
   */
  deploy(label?: string, at?: Date): Promise<boolean> {
    return markDeploy(this.store, this.now(), label, at)
  }

  /** Yields the locks of unique jobs that are held now, in any order. */
  uniqueLocks(): AsyncGenerator<UniqueLockInfo> {
    return uniqueLocks(this.#app)
  }

  /**
   * Returns the lock that refuses this push now; null: it would be stored.
   * @throws INVALID_OPTION when the job is not unique
   * @example const lock = await hq.uniqueLock(Reindex, 7)
   */
  uniqueLock<Args extends unknown[]>(job: Job<Args>, ...args: Args): Promise<UniqueLockInfo | null> {
    return uniqueLockOf(this.#app, job, args)
  }

  /**
   * Releases a lock by hand; its job stays. Resolves with false when that job does not have it any more.
   * @throws INVALID_OPTION
   */
  releaseUniqueLock(lock: Pick<UniqueLockInfo, 'key' | 'jid'>): Promise<boolean> {
    return releaseUniqueLock(this.#app, lock)
  }

  /** Returns all cron entries in the store, by name. */
  crons(): AsyncGenerator<CronInfo> {
    return this.#app.crons.list()
  }

  /**
   * Stops the workers of this app gracefully, like `worker.stop()`, all at the same time: running jobs get the `timeout` of
   * their worker. Then it closes the store, and later calls are refused. A handler that awaits it waits for itself.
   */
  async close(): Promise<void> {
    const [failure] = await this.#app.stop()
    await this.#app.setup.close()
    await this.#app.client.close()
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
