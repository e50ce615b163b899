/** How a feature takes part in the life of a job without the worker knowing the feature. */

import type { JobContext, TaskOfJob } from '../job/context.ts'
import type { Payload } from '../job/payload.ts'
import type { Effect } from '../store/contract.ts'

/** What can happen to an attempt of a job, and to a job that does not run. */
export type Outcome =
  | { kind: 'started' }
  | { kind: 'done'; result: unknown }
  | { kind: 'business-failure'; error: unknown }
  /** The handler returned, and the row of the job is ended from outside. */
  | { kind: 'deferred' }
  /** The job failed and runs again. */
  | { kind: 'retry'; error: unknown; at: number; count: number }
  /** The job failed and does not run again. With `isDeleted` it is not in the dead set. */
  | { kind: 'dead'; error: unknown; isDeleted?: boolean }
  /** The handler of the job threw a Discard. */
  | { kind: 'discarded'; error: unknown }
  | { kind: 'snoozed'; seconds: number }
  | { kind: 'released' }
  /** An iterable job stopped between two of its steps and continues later. */
  | { kind: 'paused' }
  /** The worker stopped while the job ran, and puts it back. */
  | { kind: 'interrupted' }
  /** The worker puts the job back before it started. */
  | { kind: 'not-started' }
  /** The job held several rows of a task, and each becomes a job of its own. Without `error` it had not started. */
  | { kind: 'split'; error?: unknown }
  /** The job's process died; the job goes back to its queue. */
  | { kind: 'rescued'; crashes: number }
  /** The job's process died too often. */
  | { kind: 'crashed-out'; crashes: number }
  /** The job was due and goes from a job set to its queue. */
  | { kind: 'promoted' }
  /** Client middleware stopped the job when it was due. */
  | { kind: 'filtered' }
  /** The job was deleted while it waited. */
  | { kind: 'deleted' }
  /** The job was moved to the dead set while it waited. */
  | { kind: 'killed' }
  /** The job was moved by hand from a job set to its queue. */
  | { kind: 'added-to-queue' }
  /** The job was changed while it waited, and keeps waiting; `due` is its score if it is scheduled. */
  | { kind: 'changed'; due?: number }
  /** The job was cancelled. `begun` is true if it was running. */
  | { kind: 'cancelled'; begun: boolean }
  /** The job could not start before its deadline. */
  | { kind: 'expired' }

/** After these outcomes the job runs again or continues. */
const GOES_ON: ReadonlySet<Outcome['kind']> = new Set([
  'started',
  'retry',
  'snoozed',
  'paused',
  'released',
  'interrupted',
  'not-started',
  'rescued',
  'promoted',
  'added-to-queue',
  'changed',
])

export function goesOn({ kind }: Outcome): boolean {
  return GOES_ON.has(kind)
}

/**
 * What concerns a plugin: a member that the payload of a job has, or something about any job: `cancelled` is that
 * outcome, `no-attempt` an outcome outside a running attempt, and `own-context` an attempt whose context a feature has
 * extended.
 */
export type Concern =
  | 'hk_task'
  | 'hk_cron'
  | 'hk_lock'
  | 'hk_unique'
  | 'bid'
  | 'cancelled'
  | 'no-attempt'
  | 'own-context'

export interface Plugin {
  /** `effects`, `returned` and `taskOf` are only asked about jobs with one of these. Default: about all jobs. */
  concerns?: readonly Concern[]
  /**
   * Returns the effects that the store applies in the step that moves the job. Outside a running attempt `ctx` is
   * absent: then the effects must follow from the payload alone, because another program may move the job. `now` returns
   * the time in milliseconds.
   */
  effects?(payload: Payload, outcome: Outcome, now: () => number, ctx?: JobContext): Effect[] | undefined
  /**
   * Called with what a handler returned, before its attempt is done. The promise resolves with another result;
   * undefined keeps the result. An error thrown here counts as thrown by the handler.
   */
  returned?(payload: Payload, result: unknown, ctx: JobContext): Promise<unknown> | undefined
  /**
   * Called after each attempt that had started; `ms` is how long it ran, `startedAt` when it got its slot, in milliseconds
   * since the epoch. It must cost next to nothing.
   */
  ended?(payload: Payload, outcome: Outcome, ms: number, startedAt: number): void
  /**
   * Returns true when another program may cancel this attempt without a cancellation of ours. The worker then asks the
   * store about it anyway.
   */
  cancelledByOthers?(ctx: JobContext): boolean
  /** Returns what `ctx.task` shows to the handler. */
  taskOf?(payload: Payload): TaskOfJob | undefined
}

type With<Hook extends keyof Plugin> = Required<Pick<Plugin, Hook>>

/** Plugins by hook, each in the order in which they were added. */
interface ByHook {
  readonly effects: readonly With<'effects'>[]
  readonly returned: readonly With<'returned'>[]
  readonly taskOf: readonly With<'taskOf'>[]
}

/** The bit of each concern. */
const BITS: Readonly<Record<Concern, number>> = {
  hk_task: 1,
  hk_cron: 2,
  hk_lock: 4,
  hk_unique: 8,
  bid: 16,
  cancelled: 32,
  'no-attempt': 64,
  'own-context': 128,
}

/** The plugins, of which a job asks only those that it concerns. */
export class Plugins {
  readonly ended: With<'ended'>[] = []
  readonly cancelledByOthers: With<'cancelledByOthers'>[] = []
  readonly #all: Plugin[] = []
  /** The plugins that a job concerns, by the bits of its concerns. */
  #concerned: (ByHook | undefined)[] = []

  add(plugin: Plugin): void {
    this.#all.push(plugin)
    this.#concerned = []
    for (const hook of ['ended', 'cancelledByOthers'] as const) {
      if (plugin[hook]) (this[hook] as Plugin[]).push(plugin)
    }
  }

  /** Returns the plugins that a job concerns, and, with an outcome, those that its outcome concerns. */
  concerned(payload: Payload, outcome?: Outcome, ctx?: JobContext): ByHook {
    const { hk_task, hk_cron, hk_lock, hk_unique, bid } = payload
    let bits = 0
    if (hk_task !== undefined) bits |= BITS.hk_task
    if (hk_cron !== undefined) bits |= BITS.hk_cron
    if (hk_lock !== undefined) bits |= BITS.hk_lock
    if (hk_unique !== undefined) bits |= BITS.hk_unique
    if (bid !== undefined) bits |= BITS.bid
    if (outcome !== undefined) {
      if (outcome.kind === 'cancelled') bits |= BITS.cancelled
      if (ctx === undefined) bits |= BITS['no-attempt']
      else if (ctx.isExtended) bits |= BITS['own-context']
    }
    const known = this.#concerned[bits]
    if (known) return known
    const concerned = this.#withConcerns(bits)
    this.#concerned[bits] = concerned
    return concerned
  }

  #withConcerns(bits: number): ByHook {
    const some = this.#all.filter(({ concerns }) => !concerns || concerns.some((one) => (bits & BITS[one]) !== 0))
    const having = <Hook extends keyof ByHook>(hook: Hook) => some.filter((plugin) => plugin[hook]) as With<Hook>[]
    return { effects: having('effects'), returned: having('returned'), taskOf: having('taskOf') }
  }
}
