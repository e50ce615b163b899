/** Who wants to hear of what: errors, deaths, the points of a worker's life. */

import { HighkiqError, hasCode, messageOf } from '../job/errors.ts'
import type { Logger } from '../job/logger.ts'
import type { Payload } from '../job/payload.ts'
import type { Lifecycle, WorkerAbout } from '../worker/engine.ts'

/**
 * `about.context` says where it comes from: 'Job raised exception' (with the job, and `jid`, `class`, `queue`, `attempt`,
 * `next`), 'Invalid JSON for job' and 'Internal exception!' (with `jobstr`), or what Highkiq was doing.
 */
export type ErrorHandler = (error: unknown, about: Record<string, unknown>) => unknown
export type ErrorClass = abstract new (...about: never[]) => unknown
export type DeathHandler = (payload: Payload, error: unknown) => unknown
export type FatalHandler = (error: unknown, worker: WorkerAbout) => unknown
export type LifecycleHandler = (worker: WorkerAbout) => unknown

/** Between lines that say that the store is away. */
const AWAY_MS = 30_000
const LIFECYCLE = new Set<string>(['startup', 'quiet', 'shutdown', 'exit', 'heartbeat', 'beat', 'reopen'])

export class Hooks {
  readonly error: ErrorHandler[] = []
  readonly death: DeathHandler[] = []
  readonly fatal: FatalHandler[] = []
  readonly #business: ErrorClass[] = []
  readonly #lifecycle = new Map<Lifecycle, LifecycleHandler[]>()
  readonly #log: () => Logger
  #tellAwayAt = 0

  constructor(log: () => Logger) {
    this.#log = log
  }

  /** @throws INVALID_OPTION */
  on(event: Lifecycle, handler: LifecycleHandler): void {
    if (!LIFECYCLE.has(event)) {
      throw new HighkiqError('INVALID_OPTION', `there is no event ${event}; there are ${[...LIFECYCLE].join(', ')}`)
    }
    this.#lifecycle.set(event, [...(this.#lifecycle.get(event) ?? []), handler])
  }

  /** @throws INVALID_OPTION */
  addBusinessErrors(classes: readonly ErrorClass[]): void {
    if (!classes.every((one) => typeof one === 'function')) {
      throw new HighkiqError('INVALID_OPTION', 'businessErrors takes classes, for instance businessErrors(PriceError)')
    }
    this.#business.push(...classes)
  }

  isBusiness(error: unknown): boolean {
    return this.#business.some((one) => error instanceof one)
  }

  /** Never throws. */
  report(error: unknown, about: Record<string, unknown>): void {
    if (this.error.length === 0) this.#logError(error, about)
    const told = { context: about.during, ...about }
    for (const handler of this.error) void this.#safely(() => handler(error, told), 'onError')
  }

  /** While the store is away every part of a worker says so: one line now and then is enough. */
  #logError(error: unknown, { job: _, jobstr, ...rest }: Record<string, unknown>): void {
    // What a job carries is not for the log.
    const about = jobstr === undefined ? rest : { ...rest, jobstr: String(jobstr).slice(0, 200) }
    if (!hasCode(error, 'STORE_UNREACHABLE') && !hasCode(error, 'STORE_TIMEOUT')) {
      this.#log().error({ ...about, err: error }, messageOf(error))
    } else if (performance.now() >= this.#tellAwayAt) {
      this.#tellAwayAt = performance.now() + AWAY_MS
      this.#log().warn({ ...about }, `${messageOf(error)}: waiting, and going on when it is back`)
    }
  }

  /** Never throws. */
  async died(payload: Payload, error: unknown): Promise<void> {
    for (const handler of this.death) await this.#safely(() => handler(payload, error), 'onDeath')
  }

  /** Never throws. */
  async emitFatal(error: unknown, worker: WorkerAbout): Promise<void> {
    for (const handler of this.fatal) await this.#safely(() => handler(error, worker), 'onFatal')
  }

  async emit(event: Lifecycle, worker: WorkerAbout): Promise<void> {
    const handlers = (this.#lifecycle.get(event) ?? []).map((handler) => () => handler(worker))
    if (event === 'quiet' || event === 'shutdown' || event === 'exit') handlers.reverse()
    // A worker that can't get ready must not begin.
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
