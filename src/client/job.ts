import type { JobDefinition, JobOptions } from '../job/definition.ts'
import { type Duration, dueAt } from '../job/duration.ts'
import type { Client, PushRequest } from './client.ts'

/** What one push may say differently from its job's definition. */
export interface PushOptions extends Pick<JobOptions, 'queue' | 'retry' | 'tags' | 'backtrace' | 'dead' | 'retryFor'> {
  jid?: string
}

/** What a job needs of its app. */
export interface JobHost {
  client: Client
  now(): number
  /** Runs a job in this process, through both middleware chains. */
  runInline(request: PushRequest): Promise<unknown>
}

/**
 * A job that was defined: push it. Everything here can be called many times.
 *
 * @example
 * const HardJob = hq.job('HardJob', async (ctx, name: string, count: number) => { … })
 * await HardJob.performAsync('bob', 5)
 */
export class Job<Args extends unknown[] = unknown[], Result = unknown> {
  readonly definition: JobDefinition
  readonly #host: JobHost
  readonly #options: PushOptions

  constructor(host: JobHost, definition: JobDefinition, options: PushOptions = {}) {
    this.#host = host
    this.definition = definition
    this.#options = options
  }

  get name(): string {
    return this.definition.name
  }

  /** The same job with other options for what is pushed through it. */
  set(options: PushOptions): Job<Args, Result> {
    return new Job(this.#host, this.definition, { ...this.#options, ...options })
  }

  /** Now. @returns the job's id; null when client middleware stopped it */
  performAsync(...args: Args): Promise<string | null> {
    return this.#host.client.push(this.#request(args))
  }

  /** After some time: seconds, `'5m'`, `{ minutes: 5 }`. A number from 1,000,000,000 on is an epoch second, as in Sidekiq. */
  async performIn(delay: number | Duration, ...args: Args): Promise<string | null> {
    return this.#host.client.push(this.#request(args, dueAt(delay, this.#host.now())))
  }

  /** At a time: a Date, or seconds since the epoch. In the past: now. */
  async performAt(when: Date | number, ...args: Args): Promise<string | null> {
    return this.#host.client.push(this.#request(args, dueAt(when, this.#host.now())))
  }

  /**
   * Many at once, from anything that can be iterated; no more is read ahead than one batch.
   * @returns the ids, one for each, null where client middleware stopped a job
   */
  performBulk(
    all: Iterable<Args> | AsyncIterable<Args>,
    { batchSize }: { batchSize?: number } = {},
  ): Promise<(string | null)[]> {
    return this.#host.client.pushBulk(this.#requests(all), batchSize)
  }

  /** Here and now, through both middleware chains; what the handler throws is thrown. Nothing is stored. */
  async performInline(...args: Args): Promise<Result> {
    return (await this.#host.runInline(this.#request(args))) as Result
  }

  async *#requests(all: Iterable<Args> | AsyncIterable<Args>): AsyncGenerator<PushRequest> {
    for await (const args of all) yield this.#request(args)
  }

  #request(args: Args, at?: number): PushRequest {
    const { retryFor, ...options } = this.#options
    return {
      ...options,
      ...(retryFor === undefined ? {} : { retry_for: retryFor }),
      class: this.definition.name,
      args,
      ...(at === undefined ? {} : { at }),
    }
  }
}
