import type { AppPort } from '../app/port.ts'
import type { JobDefinition } from '../job/definition.ts'
import type { Duration } from '../job/duration.ts'
import { invalidOption } from '../job/errors.ts'
import { type OptionRule, shown } from '../job/options.ts'
import { type Payload, readPayload, writePayload } from '../job/payload.ts'
import type { Jid } from '../job/result.ts'
import type { BulkOptions, Rows } from './bulk.ts'
import type { Client } from './client.ts'
import type { Target } from './pusher.ts'
import { type PushOptions, type PushRequest, withJidLock } from './request.ts'
import { pushOptionsOf, type SetOptions } from './set-options.ts'
import type { TemplateCache } from './template.ts'

interface JobAbout {
  /** Pushes the job; default: the client of the app. */
  client?: Client
  options?: PushOptions
  /** Returns the push of another job, which wraps this one. */
  wrap?: ((request: PushRequest) => PushRequest) | undefined
  /** Further members that `set` accepts; `wrap` reads them. */
  members?: readonly string[] | undefined
}

/**
 * A job that was defined: push it. Everything here can be called many times.
 *
 * @example
 * const HardJob = hq.job('HardJob', async (ctx, name: string, count: number) => { … })
 * await HardJob.performAsync('bob', 5)
 */
export class Job<Args extends unknown[] = unknown[], Result = unknown, Options extends SetOptions = SetOptions> {
  readonly definition: JobDefinition
  readonly #app: AppPort
  readonly #about: JobAbout
  readonly #client: Client
  readonly #options: PushOptions
  readonly #cache: TemplateCache = {}

  constructor(app: AppPort, definition: JobDefinition, about: JobAbout = {}) {
    this.#app = app
    this.definition = definition
    this.#about = about
    this.#client = about.client ?? app.client
    this.#options = about.options ?? {}
  }

  get name(): string {
    return this.definition.name
  }

  /**
   * Returns the same job with other options for its pushes; of repeated calls the last value of each option counts.
   * Put members of your own under `extra`.
   * @example HardJob.set({ queue: 'critical', extra: { tenant: 'acme' } }).performAsync('bob', 5)
   */
  set(options: Options): this {
    const chosen = pushOptionsOf(this.name, options, this.#about.members ?? [])
    const timed = 'wait' in chosen || 'waitUntil' in chosen || 'at' in chosen
    return this.#with({ options: { ...this.#options, ...(timed ? NO_TIME : {}), ...chosen } })
  }

  /** Returns the same job for another store, or with other client middleware. */
  via(target: Target): this {
    return this.#with({ client: this.#client.via(target) })
  }

  /**
   * Pushes the job to run now, or at the time given to `set`. The promise resolves when the store has the job; in
   * `hq.transaction` after the commit, and in the function of `hq.batch` before the job is stored with its batch.
   * @returns the job's id; null when client middleware stopped it
   */
  performAsync(...args: Args): Promise<Jid<Result> | null> {
    return this.#client.push(
      this.request(args),
      this.#about.wrap ? undefined : this.#cache,
    ) as Promise<Jid<Result> | null>
  }

  /**
   * Pushes with a delay: seconds, `'5m'` or `{ minutes: 5 }`. A Date, or a number from 1,000,000,000 on, is a time, as
   * in Sidekiq.
   */
  performIn(delay: number | Duration | Date, ...args: Args): Promise<Jid<Result> | null> {
    return this.#at(delay, args)
  }

  /** Pushes for a time: a Date, or seconds since the epoch. A time in the past means now. */
  performAt(when: Date | number, ...args: Args): Promise<Jid<Result> | null> {
    return this.#at(when, args)
  }

  /**
   * Pushes many jobs, from any iterable of argument lists; reads ahead at most one batch.
   * @returns the ids, one for each job, null where client middleware stopped a job
   */
  performBulk(all: Rows<Args>, options: BulkOptions = {}): Promise<(Jid<Result> | null)[]> {
    const { jid = this.#options.jid, ...times } = options
    const requestOf = (args: Args, own?: PushOptions) => this.request(args, own)
    const isUniform = this.#about.wrap === undefined
    const jids = this.#client.pushEach({ name: this.name, rows: all, options: { ...times, jid }, requestOf, isUniform })
    return jids as Promise<(Jid<Result> | null)[]>
  }

  /** Runs the handler in this process, through both middleware chains, and rejects with its error. Stores no job. */
  async performInline(...args: Args): Promise<Result> {
    const payload = await this.#client.pass(this.#client.normalise(this.request(args)))
    if (!payload) return null as Result
    this.#client.writer.check(payload)
    return (await this.#app.run(readPayload(writePayload(payload)) as Payload)) as Result
  }

  /** The options given to `set`, without time and jid. */
  get defaults(): PushOptions {
    return { ...this.#options, ...NO_TIME, jid: undefined }
  }

  /** Returns the push; `own` has its time or its jid. */
  request(args: Args, own?: PushOptions): PushRequest {
    const { wrap } = this.#about
    const request = withJidLock({ ...this.#options, ...own, class: this.definition.name, args })
    return wrap ? wrap(request) : request
  }

  // In tests (highkiq/testing) -----------------------------------------------------------------------------------

  /** Pushed jobs that have not run, in order; scheduled ones have their `at`. */
  get jobs(): Payload[] {
    return this.#app.client.collected.jobs(this.name)
  }

  /** Runs all pushed jobs, including those pushed meanwhile. @returns how many; @throws what a handler throws */
  async drain(): Promise<number> {
    return this.#app.client.collected.drain(this.name)
  }

  /** Runs the next job. @returns what its handler returns; @throws EMPTY_QUEUE, and what the handler throws */
  async performOne(): Promise<Result> {
    return (await this.#app.client.collected.performOne(this.name)) as Result
  }

  clear(): void {
    this.#app.client.collected.clear(this.name)
  }

  #with(about: JobAbout): this {
    return new Job(this.#app, this.definition, { ...this.#about, ...about }) as this
  }

  #at(when: Date | number | Duration, args: Args): Promise<Jid<Result> | null> {
    // `undefined` must not mean now.
    const wait = when ?? (null as never)
    return this.#client.push(this.request(args, { ...NO_TIME, wait })) as Promise<Jid<Result> | null>
  }
}

/** A job with any arguments, whose handler returns this. */
export interface JobReturning<Result> {
  readonly name: string
  performInline(...args: never): Promise<Result>
}

const NO_TIME = { at: undefined, wait: undefined, waitUntil: undefined }

export const JOB: OptionRule = [
  (job) => typeof (job as Job | null)?.request === 'function',
  'a job, as returned by hq.job(…)',
]

/** Checks the first argument of a function. @throws INVALID_OPTION */
export function checkJob(where: string, job: unknown): void {
  if (JOB[0](job)) return
  throw invalidOption(`${where}: the first argument must be ${JOB[1]} (got ${shown(job)})`)
}
