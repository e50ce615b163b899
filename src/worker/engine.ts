import type { Chain, Middleware } from '../job/chain.ts'
import type { JobContext } from '../job/context.ts'
import type { JobDefinition } from '../job/definition.ts'
import type { Logger } from '../job/logger.ts'
import type { Payload, Wire } from '../job/payload.ts'
import type { Effect, Store } from '../store/contract.ts'
import type { Cancellations } from './cancellations.ts'
import type { Outcome, Plugin } from './plugin.ts'

export type Lifecycle = 'startup' | 'quiet' | 'shutdown' | 'exit' | 'heartbeat' | 'beat' | 'reopen'

/** Writes the log lines of a job's start and end. */
export interface JobLog {
  start(attempt: LoggedAttempt): void
  done(attempt: LoggedAttempt): void
  threw(attempt: LoggedAttempt, thrown: unknown): void
}

export interface LoggedAttempt {
  ctx: JobContext
  /** When its handler was called, on the monotonic clock. */
  began: number
}

/** The properties of the worker that handlers of `hq.on` and `hq.onFatal` get. */
export interface WorkerAbout {
  identity: string
  /** The names of the queues that it serves. */
  queues: readonly string[]
  /** Jobs at the same time, in all capsules. */
  concurrency: number
  /** Batches of ordered queues at the same time, beside them. */
  orderedConcurrency: number
}

/** Where jobs run that keep the CPU busy. */
export interface Threads {
  /** A thread for one job, ready to run its handler. */
  reserve(definition: JobDefinition, ctx: JobContext): Promise<{ run(): Promise<unknown>; release(): void }>
}

/** The part of a worker's lease that the code needs to start jobs. */
export interface HeldLease {
  /** The time on the monotonic clock before which no other process can have claimed the lease. */
  readonly safeUntil: number
  /**
   * Renews the lease until `safeUntil` lies ahead. Returns false when the lease was lost, or the worker has stopped.
   */
  confirm(): Promise<boolean>
}

/** What a worker needs of its app. */
export interface Engine {
  store: Store
  /** Of the class, else of the queue it was taken from. */
  definition(name: string, queue?: string): JobDefinition | undefined
  chain: Chain<JobContext, unknown>
  /** Of a capsule: inside the chain. */
  use?: readonly Middleware<JobContext, unknown>[]
  /** Gives a job that was wrapped by another framework the arguments that its handler expects. May throw. */
  unwrap?(ctx: JobContext): void
  /** A job that leaves a set, through the client middleware. */
  promote(text: string): Promise<{ text: string; queue: string } | null | undefined>
  plugins: readonly Plugin[]
  cancellations: Cancellations
  log: Logger
  /** Members of the payload that each line of a job shows. */
  loggedJobAttributes: readonly string[]
  /** Absent where nobody would see its lines. */
  jobLog?: JobLog | undefined
  /** How times are written. */
  wire: Wire
  now(): number
  random(): number
  /** Of a job without `retry`, of one with `true`, and of the dead set. */
  limits: { retries: number; dead: number; deadSeconds: number }
  /** Of a stack, before it is stored with a job. */
  backtraceCleaner?: (lines: string[]) => string[]
  /** Whether the app has declared it a business failure. */
  isBusiness(error: unknown): boolean
  /** An error that nobody else hears of. Never throws. */
  report(error: unknown, about: Record<string, unknown>): void
  /** A job will not run again. Never throws. */
  died(payload: Payload, error: unknown): Promise<void>
  /** Emits a lifecycle event; a worker's engine adds the properties of that worker. */
  emit(event: Lifecycle, worker?: WorkerAbout): Promise<void>
  /** The process ends because of this. Never throws. */
  emitFatal(error: unknown, worker?: WorkerAbout): Promise<void>
  /** For jobs that say `thread`; absent where there is no worker: then they run here. */
  threads?: Threads
  /** The lease of the worker; absent where there is no worker. */
  lease?: HeldLease
  /** On the monotonic clock: when an error that nobody caught doomed the process, if one did. */
  fatalAt?(): number | undefined
  /** Whether the worker takes no more jobs; absent where there is no worker. */
  isStopping?(): boolean
}

/** The job that runs a payload: that of its class, else of what it wraps, else the handler of its queue. */
export function definitionOf(
  engine: Pick<Engine, 'definition'>,
  { class: name, wrapped }: Payload,
  queue: string,
): JobDefinition | undefined {
  return (
    (wrapped === undefined ? undefined : (engine.definition(name) ?? engine.definition(wrapped))) ??
    engine.definition(name, queue)
  )
}

/** All that the features want changed with a job; undefined when none has a say, which costs nothing. */
export function effectsOf(
  engine: Pick<Engine, 'plugins' | 'now'>,
  payload: Payload,
  outcome: Outcome,
  ctx?: JobContext,
): Effect[] | undefined {
  const at = engine.now()
  let all: Effect[] | undefined
  for (const plugin of engine.plugins) {
    const effects = plugin.effects?.(payload, outcome, at, ctx)
    if (effects) all = all ? all.concat(effects) : effects
  }
  return all
}
