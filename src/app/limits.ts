/** The limits of an app: those in its options, and those that `hq.limit` names. */

import type { JobContext } from '../job/context.ts'
import { invalidOption } from '../job/errors.ts'
import { checkLimit, type LimitOptions, limitText, NamedLimit, type WithinOptions } from '../job/limit.ts'
import { shown } from '../job/options.ts'
import type { Store } from '../store/contract.ts'
import type { Worker } from '../worker/lifecycle/worker.ts'
import { runWithin, runWithinInline } from '../worker/run/within.ts'
import { SharedLimits, type SharedRule } from '../worker/shared-limits.ts'
import type { HighkiqOptions } from './options.ts'

const MOST_NAME = 200

export class AppLimits {
  readonly #options: Pick<HighkiqOptions, 'limit' | 'queues'>
  readonly #app: { store: () => Store; workers: Iterable<Worker> }
  readonly #named = new Map<string, NamedLimit>()
  /** The names of the limits of jobs that no worker runs. */
  readonly #inline = new WeakMap<JobContext, readonly string[]>()

  constructor(
    options: Pick<HighkiqOptions, 'limit' | 'queues'>,
    app: { store: () => Store; workers: Iterable<Worker> },
  ) {
    this.#options = options
    this.#app = app
  }

  /** The same definition again returns the same limit, as when a handler makes it. @throws INVALID_OPTION */
  define(name: string, options: LimitOptions): NamedLimit {
    if (typeof name !== 'string' || name === '' || name.length > MOST_NAME) {
      throw invalidOption(
        `hq.limit: the name of a limit must be a string of 1 to ${MOST_NAME} characters (got ${shown(name)})`,
      )
    }
    checkLimit(`hq.limit ${name}`, options)
    const defined = this.#named.get(name)
    if (defined) {
      const [before, now] = [limitText(defined.options), limitText(options)]
      if (before === now) return defined
      throw invalidOption(
        `hq.limit: a limit named ${name} is already defined as ${before}, and can't also be ${now}: give one of them another name`,
      )
    }
    const limit = new NamedLimit(name, options, (...use) => this.#runWithin(...use))
    this.#named.set(name, limit)
    return limit
  }

  /** Notes the names of the limits of a job that no worker runs. */
  noteInline(ctx: JobContext, names: readonly string[]): void {
    if (names.length > 0) this.#inline.set(ctx, names)
  }

  /** Returns the limits of queues and of all jobs, for a worker. */
  shared(report: (error: unknown, about: Record<string, unknown>) => void): SharedLimits {
    const { limit, queues = {} } = this.#options
    const ofAll: SharedRule[] = limit ? [{ kind: 'app', name: 'all jobs', options: limit }] : []
    const ofQueues = Object.entries(queues).flatMap(([queue, { limitOf: name = queue }]): SharedRule[] => {
      const options = queues[name]?.limit
      return options ? [{ kind: 'queue', name, options, queue }] : []
    })
    const limitQueues = Object.entries(queues).flatMap(([queue, { limitOf }]) =>
      limitOf === undefined ? [] : [[queue, limitOf] as const],
    )
    return new SharedLimits([...ofQueues, ...ofAll], report, new Map(limitQueues))
  }

  async #runWithin<Result>(
    limit: NamedLimit,
    ctx: JobContext,
    options: WithinOptions,
    work: () => Result | Promise<Result>,
  ): Promise<Result> {
    if (ctx.isInline) return runWithinInline({ ctx, limitNames: this.#inline.get(ctx) }, limit, options, work)
    for (const worker of this.#app.workers) {
      const running = worker.attemptOf(ctx)
      if (running) return runWithin(this.#app.store(), running, limit, options, work)
    }
    throw invalidOption(
      `limit ${limit.name}: within needs the ctx of a job that runs in a worker of this app; handlers in threads can't use it`,
    )
  }
}
