/** The interface of executors: a worker's capsules and its ordered queues, which fetch, run and settle jobs. */

import type { JobContext } from '../job/context.ts'
import type { Payload } from '../job/payload.ts'

/** A job, or a batch of an ordered queue, that runs now. */
export interface Running {
  readonly ctx: JobContext
  readonly payload: Payload
  readonly fetched: { readonly queue: string; readonly text: string }
  readonly startedAt: number
  /** A number that no other running job of this worker has; it grows from job to job. */
  readonly slot: number
}

/** Records in shared memory which handlers run, so that the lease thread can name the one that blocks the event loop. */
export interface EventLoopRecord {
  /** Records that a handler is called now. Returns the id that `ended` needs. `timeout` is in seconds, 0 for none. */
  began(jid: unknown, name: string, timeout?: number): number
  /** Records that the handler has returned, with a promise or a value: from now on any code may block. */
  yielded(): void
  ended(id: number): void
}

/** The part of the worker that an executor uses. */
export interface WorkerHandle {
  owner(): string
  readonly eventLoop: EventLoopRecord
  /** Returns the slot of the next job that the worker starts. */
  nextSlot(): number
  /** Called when the store says that another process has claimed this owner's lease: the worker becomes another owner. */
  onFenced(): Promise<void>
}

export interface Executor {
  /** The queues whose jobs it fetches. */
  readonly queues: readonly string[]
  readonly busy: number
  readonly attempts: readonly Running[]
  start(): void
  /** Fetches no more jobs. */
  quiet(): void
  /** Resolves when no job runs and none is about to start. */
  idle(): Promise<void>
  /** Aborts the signal of every running job. */
  abort(code: 'SHUTDOWN' | 'LEASE_LOST', message: string): void
  /** Requeues the jobs that still run or were interrupted, and ends. Returns these jobs. After an abort it stops waiting. */
  stop(signal: AbortSignal): Promise<readonly Running[]>
  /** Drops all jobs without settling them: they belong to other workers now. */
  onLeaseLost(): void
}
