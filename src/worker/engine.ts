import type { Recording } from '../events/recording.ts'
import type { Chain, Middleware } from '../job/chain.ts'
import type { BatchAccess, HeldLease, JobContext } from '../job/context.ts'
import type { JobDefinition } from '../job/definition.ts'
import type { FinishedRules } from '../job/keep-finished.ts'
import type { Logger } from '../job/logger.ts'
import type { Payload, Wire } from '../job/payload.ts'
import { baseQueue } from '../job/priority.ts'
import type { Effect, Store } from '../store/contract.ts'
import type { Cancellations } from './cancellations.ts'
import type { ControlVersion } from './control-version.ts'
import type { JobLog } from './job-log.ts'
import type { Outcome, Plugins } from './plugin.ts'
import type { SharedLimits } from './shared-limits.ts'

export type Lifecycle = 'startup' | 'quiet' | 'shutdown' | 'exit' | 'heartbeat' | 'beat' | 'reopen'

/** The properties of the worker that handlers of `hq.on` and `hq.onFatal` get. */
export interface WorkerAbout {
  identity: string
  queues: readonly string[]
  /** The number of jobs that it runs at the same time, in all capsules. */
  concurrency: number
  /** The number of batches of ordered queues that it runs at the same time, in addition. */
  orderedConcurrency: number
}

/** Runs the handlers of jobs with the option `thread`. */
export interface Threads {
  /** Returns a thread that is ready to run the handler of one job. */
  reserve(definition: JobDefinition, ctx: JobContext): Promise<{ run(): Promise<unknown>; release(): void }>
}

/** The part of the app that a worker uses. */
export interface Engine {
  store: Store
  /** Returns the definition of a class, or else that of the queue from which the job was fetched. */
  definition(name: string, queue?: string): JobDefinition | undefined
  /** The names of the defined jobs, for the hint at an unknown one. */
  jobNames?: () => string[]
  chain: Chain<JobContext, unknown>
  /** The middleware of a capsule; it runs inside the chain. */
  use?: readonly Middleware<JobContext, unknown>[]
  /** Gives a job that another framework has wrapped the arguments that its handler expects. May throw. */
  unwrap?(ctx: JobContext): void
  /** Gives the handler of a job with `encrypt` its last argument in plain text. @throws DECRYPTION_FAILED */
  decrypt(ctx: JobContext): void
  /** Runs `work` with the values that came with a payload. Absent when the app declares no context. */
  within?: ((payload: Payload, work: () => unknown) => unknown) | undefined
  /** Passes a job that leaves a job set through the client middleware. */
  promote(text: string): Promise<{ text: string; queue: string } | null | undefined>
  plugins: Plugins
  cancellations: Cancellations
  control: ControlVersion
  /** Whether the store records events of jobs. */
  recording: Recording
  log: Logger
  /** The members of the payload that each log line of a job shows. */
  loggedJobAttributes: readonly string[]
  /** What the context of a job in a batch or flow uses. Absent where there is none. */
  batches?: BatchAccess | undefined
  /** Absent when the logger drops its lines. */
  jobLog?: JobLog | undefined
  /** The Sidekiq version in whose format jobs are written. */
  wire: Wire
  now(): number
  random(): number
  /** The retries of a job with `retry: true`, and the size and age limits of the dead set. */
  limits: { retries: number; dead: number; deadSeconds: number }
  /** Which jobs stay in the set of finished jobs; absent when none does. */
  finished?: FinishedRules | undefined
  /** The limits of queues and of all jobs, and those that were set from outside. */
  sharedLimits: SharedLimits
  /** Cleans the lines of a stack before it is stored with a job. */
  backtraceCleaner?: (lines: string[]) => string[]
  /** Returns whether the app has declared the error a business failure. */
  isBusiness(error: unknown): boolean
  /** Passes an error to the app's error handlers. Never throws. */
  report(error: unknown, about: Record<string, unknown>): void
  /** Calls the app's death handlers for a job that does not run again. Never throws. */
  died(payload: Payload, error: unknown): Promise<void>
  /** Emits a lifecycle event; a worker's engine adds the properties of that worker. */
  emit(event: Lifecycle, worker?: WorkerAbout): Promise<void>
  /** Calls the app's fatal handlers for the error that ends the process. Never throws. */
  emitFatal(error: unknown, worker?: WorkerAbout): Promise<void>
  /** Runs jobs with the option `thread`. Absent without a worker: then they run in the main thread. */
  threads?: Threads
  /** The lease of the worker; absent where there is no worker. */
  lease?: HeldLease
  /** The time of the first uncaught error on the monotonic clock; undefined when there was none. */
  fatalAt?(): number | undefined
  /** Returns whether the worker fetches no more jobs. Absent without a worker. */
  isStopping?(): boolean
}

/** Returns the definition that runs a payload: that of its class, of the class it wraps, or of its queue. */
export function definitionOf(
  engine: Pick<Engine, 'definition'>,
  { class: name, wrapped }: Payload,
  queue: string | undefined,
): JobDefinition | undefined {
  return (
    (wrapped === undefined ? undefined : (engine.definition(name) ?? engine.definition(wrapped))) ??
    engine.definition(name, queue && baseQueue(queue))
  )
}

/** Returns what the plugins change in the step that moves a job; undefined when no plugin changes anything. */
export function effectsOf(
  engine: Pick<Engine, 'plugins' | 'now'>,
  payload: Payload,
  outcome: Outcome,
  ctx?: JobContext,
): Effect[] | undefined {
  let all: Effect[] | undefined
  for (const plugin of engine.plugins.concerned(payload, outcome, ctx).effects) {
    const effects = plugin.effects(payload, outcome, engine.now, ctx)
    if (effects) all = all ? all.concat(effects) : effects
  }
  return all
}
