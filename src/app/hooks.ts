/** The handlers of an app: for errors, deaths, uncaught errors, and the lifecycle events of its workers. */

import { invalidOption, isUnreachable, messageOf } from '../job/errors.ts'
import type { Logger } from '../job/logger.ts'
import type { Payload } from '../job/payload.ts'
import { answerOfHandler } from '../job/wait.ts'
import type { Lifecycle, WorkerAbout } from '../worker/engine.ts'

/**
 * `about.context` names the source of the error: 'Job raised exception' (with the job, and `jid`, `class`, `queue`,
 * `attempt`, `next`), 'Invalid JSON for job' and 'Internal exception!' (with `jobstr`), or what Highkiq was doing.
 */
export type ErrorHandler = (error: unknown, about: Record<string, unknown>) => unknown
export type ErrorClass = abstract new (...about: never[]) => unknown
export type DeathHandler = (payload: Payload, error: unknown) => unknown
export type FatalHandler = (error: unknown, worker: WorkerAbout) => unknown
export type LifecycleHandler = (worker: WorkerAbout) => unknown

/** The interval between two log lines about a store that does not answer. */
const OUTAGE_MS = 30_000
const LIFECYCLE = new Set<string>(['startup', 'quiet', 'shutdown', 'exit', 'heartbeat', 'beat', 'reopen'])

export class Hooks {
  readonly error: ErrorHandler[] = []
  readonly death: DeathHandler[] = []
  readonly fatal: FatalHandler[] = []
  readonly #business: ErrorClass[] = []
  readonly #lifecycle = new Map<Lifecycle, LifecycleHandler[]>()
  readonly #log: () => Logger
  #logOutageAt = 0

  constructor(log: () => Logger) {
    this.#log = log
  }

  /** @throws INVALID_OPTION */
  on(event: Lifecycle, handler: LifecycleHandler): void {
    if (!LIFECYCLE.has(event)) {
      throw invalidOption(`the event must be one of ${[...LIFECYCLE].join(', ')} (got ${event})`)
    }
    this.#lifecycle.set(event, [...(this.#lifecycle.get(event) ?? []), handler])
  }

  /** @throws INVALID_OPTION */
  addBusinessErrors(classes: readonly ErrorClass[]): void {
    if (!classes.every((one) => typeof one === 'function')) {
      throw invalidOption('businessErrors: each argument must be a class, for instance businessErrors(PriceError)')
    }
    this.#business.push(...classes)
  }

  isBusiness(error: unknown): boolean {
    return this.#business.some((one) => error instanceof one)
  }

  /** Never throws. */
  report(error: unknown, about: Record<string, unknown>): void {
    if (this.error.length === 0) this.#logError(error, about)
    const all = { context: about.during, ...about }
    for (const handler of this.error) void this.#safely(() => handler(error, all), 'onError')
  }

  /** Logs an error. Errors of a store that does not answer come from every part of a worker: they are logged seldom. */
  #logError(error: unknown, { job: _, jobstr, ...rest }: Record<string, unknown>): void {
    // The arguments of a job are not logged.
    const about = jobstr === undefined ? rest : { ...rest, jobstr: String(jobstr).slice(0, 200) }
    if (!isUnreachable(error)) {
      this.#log().error({ ...about, err: error }, messageOf(error))
    } else if (performance.now() >= this.#logOutageAt) {
      this.#logOutageAt = performance.now() + OUTAGE_MS
      this.#log().warn(about, `${messageOf(error)}: waiting until the store answers`)
    }
  }

  /** Reports an error of the app's logger. A line of the app goes to standard error, because the logger may fail again. */
  reportLogger(thrown: unknown, jid: string | undefined, line: readonly unknown[]): void {
    if (jid !== undefined) this.report(thrown, { jid, during: 'logging a job' })
    else console.error(`${line.findLast((part) => typeof part === 'string')} (the logger failed: ${messageOf(thrown)})`)
  }

  /** Waits for each handler at most 30 seconds. Never throws. */
  async died(payload: Payload, error: unknown): Promise<void> {
    const { class: name, jid } = payload
    const who = `onDeath: a handler for ${name} ${jid}`
    for (const handler of this.death) {
      await this.#safely(() => answerOfHandler(who, () => handler(payload, error)), 'onDeath')
    }
  }

  /** Never throws. */
  async emitFatal(error: unknown, worker: WorkerAbout): Promise<void> {
    for (const handler of this.fatal) await this.#safely(() => handler(error, worker), 'onFatal')
  }

  async emit(event: Lifecycle, worker: WorkerAbout): Promise<void> {
    const handlers = (this.#lifecycle.get(event) ?? []).map((handler) => () => handler(worker))
    if (event === 'quiet' || event === 'shutdown' || event === 'exit') handlers.reverse()
    // A worker must not start when a `startup` handler fails.
    if (event === 'startup') for (const handler of handlers) await handler()
    else for (const handler of handlers) await this.#safely(handler, event)
  }

  async #safely(work: () => unknown, during: string): Promise<void> {
    try {
      await work()
    } catch (thrown) {
      this.#log().error({ err: thrown, during }, messageOf(thrown))
    }
  }
}
