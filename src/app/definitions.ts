/** Where an app defines its jobs, and what they share. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import { Job } from '../client/job.ts'
import { refuseOrdered } from '../client/request.ts'
import type { Cron } from '../cron/crons.ts'
import type { CronRest } from '../cron/entry.ts'
import { checkIterable, type IterableJob } from '../iterable/definition.ts'
import { iterableHandler } from '../iterable/iteration.ts'
import type { Handler, JobDefinition, JobOptions, ProcessOptions, SchemaOf, Validating } from '../job/definition.ts'
import { HighkiqError } from '../job/errors.ts'
import type { LimitOptions, NamedLimit } from '../job/limit.ts'
import { checkText } from '../job/options.ts'
import type { ContextOptions, ContextStorage } from '../job/push-contexts.ts'
import type { OrderedHandler, OrderedOptions } from '../ordered/definition.ts'
import { OrderedJob } from '../ordered/job.ts'
import { OrderedQueue } from '../ordered/queue.ts'
import { Inspection } from './inspection.ts'
import type { Runtime } from './runtime.ts'

/** The part of an app that defines jobs, ordered queues, cron entries, limits and contexts. */
export class Definitions extends Inspection {
  readonly #app: Runtime

  constructor(app: Runtime) {
    super(app)
    this.#app = app
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
    return this.#define(name, options, handler)
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
    return this.#define(name, { ...options, thread: false }, iterableHandler(this.#app, job), true)
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

  #define<Args extends unknown[], Result>(
    name: string,
    options: JobOptions,
    handler: Handler<Args, Result>,
    isIterable = false,
  ): Job<Args, Awaited<Result>> {
    this.#refuseTwice(name, this.#app.ordered.get(name))
    return this.#jobOf(this.#app.registry.define(name, options, handler as unknown as Handler<never[]>, isIterable))
  }

  #jobOf<Args extends unknown[], Result>(definition: JobDefinition): Job<Args, Result> {
    return new Job(this.#app, definition)
  }

  #refuseTwice(name: string, other: object | undefined): void {
    if (other)
      throw new HighkiqError('DUPLICATE_JOB', `${name} is defined already: jobs and ordered queues share names`)
  }
}
