/**
 * Makes the settlement of an attempt: where its job goes, what is counted, and what the plugins change in the same step.
 * Each maker also tells the plugins how the attempt ended. Only four others make or change one: crash.ts counts crashes,
 * row-group.ts joins those of rows, slots.ts adds a start that was not sent yet, and rescuer.ts rescues jobs without an
 * attempt.
 */

import { editPayload, readPayload, waitOf } from '../../job/payload.ts'
import { releaseLocks } from '../../job/unique.ts'
import type { Branch, Effect, FetchedJob, Limit, Settlement } from '../../store/contract.ts'
import { type Engine, effectsOf } from '../engine.ts'
import type { Outcome } from '../plugin.ts'
import { type Attempt, membersAtEnd } from './attempt.ts'
import { finishedEntry } from './finished-jobs.ts'

type OutcomeOf<Kind extends Outcome['kind']> = Extract<Outcome, { kind: Kind }>

/**
 * The attempt is done: its handler returned and nothing threw after that, it is deferred, or the job ended as a business
 * failure.
 */
export function finished(
  engine: Engine,
  attempt: Attempt,
  outcome: OutcomeOf<'done' | 'business-failure' | 'deferred'>,
): Settlement {
  const isKept = engine.finished !== undefined && outcome.kind === 'done'
  const move = isKept ? finishedEntry(engine, attempt, outcome.result) : null
  return settlement(engine, attempt, outcome, move, 1, 0)
}

/** The job failed and runs again; `text` is the job with its error, `at` in seconds since the epoch. */
export function retry(
  engine: Engine,
  attempt: Attempt,
  error: unknown,
  { text, at, count }: { text: string; at: number; count: number },
): Settlement {
  const outcome = { kind: 'retry', error, at: at * 1000, count } as const
  return settlement(engine, attempt, outcome, { to: 'retry', text, score: at }, 1, 1)
}

/** The job does not run again. With `text` it goes to the dead set, as one that died at `at`; else it is deleted. */
export function failedForGood(
  engine: Engine,
  attempt: Attempt,
  outcome: OutcomeOf<'dead' | 'discarded'>,
  text?: string,
  at = engine.now(),
): Settlement {
  if (text === undefined) {
    const ended = outcome.kind === 'dead' ? { ...outcome, isDeleted: true } : outcome
    return settlement(engine, attempt, ended, null, 1, 1)
  }
  return settlement(engine, attempt, outcome, { to: 'dead', text, score: at / 1000 }, 1, 1)
}

export type RequeueOutcome = OutcomeOf<'interrupted' | 'released' | 'paused' | 'not-started'>

/** The job goes back to its queue; it counts as neither processed nor failed, and keeps its retries. */
export function requeue(
  engine: Engine,
  attempt: Attempt,
  outcome: RequeueOutcome,
  end: 'front' | 'back' = 'front',
): Settlement {
  const { fetched } = attempt
  const text = outcome.kind === 'not-started' ? fetched.text : editPayload(fetched.text, membersAtEnd(attempt))
  return settlement(engine, attempt, outcome, { to: 'queue', queue: fetched.queue, text, end }, 0, 0)
}

/** A limit of the job has no room: the job waits for it, those that were enqueued first at the front. */
export function awaitsLimit(
  engine: Engine,
  attempt: Attempt,
  limit: Limit,
  outcome: OutcomeOf<'not-started' | 'released'>,
): Settlement {
  const { fetched, payload, startedAt } = attempt
  const { queue } = fetched
  const changes = outcome.kind === 'released' ? membersAtEnd(attempt) : {}
  const isUnchanged = outcome.kind === 'not-started' && payload.queue === queue
  const text = isUnchanged ? fetched.text : editPayload(fetched.text, { ...changes, queue })
  const score = (startedAt - (waitOf(payload, startedAt) ?? 0)) / 1000
  const waiting = settlement(engine, attempt, outcome, { to: `limited:${limit.name}`, text, score }, 0, 0)
  return { ...waiting, effects: [...(waiting.effects ?? []), { kind: 'await-limit', limit }] }
}

/** The handler threw a Snooze: the job runs again after `seconds`. */
export function snoozed(engine: Engine, attempt: Attempt, seconds: number): Settlement {
  const text = editPayload(attempt.fetched.text, membersAtEnd(attempt))
  const score = engine.now() / 1000 + seconds
  return settlement(engine, attempt, { kind: 'snoozed', seconds }, { to: 'schedule', text, score }, 0, 0)
}

/** The job was cancelled or expired: it does not run (any more), and does not count as failed. */
export function dropped(engine: Engine, attempt: Attempt, outcome: OutcomeOf<'cancelled' | 'expired'>): Settlement {
  const { fetched, payload } = attempt
  const { jid, class: name } = payload
  engine.log.info({ jid, class: name, queue: fetched.queue }, `dropped: ${outcome.kind}`)
  return settlement(engine, attempt, outcome, null, outcome.kind === 'cancelled' && outcome.begun ? 1 : 0, 0)
}

/**
 * A job goes to the dead set unchanged: its text is not a job, the worker can't handle it, or its settlement can't be made. Its
 * locks are released.
 */
export function deadUnchanged(engine: Engine, { queue, ticket, text }: FetchedJob): Settlement {
  const move = { to: 'dead', text, score: engine.now() / 1000 } as const
  const payload = readPayload(text)
  const effects = payload ? releaseLocks(payload) : []
  return { queue, ticket, move, processed: 0, failed: 0, ...(effects.length > 0 ? { effects } : {}) }
}

/** The store says that the rows of this job have moved on without it: it is deleted, and nothing else changes. */
export function superseded({ queue, ticket }: FetchedJob): Settlement {
  return { queue, ticket, move: null, processed: 0, failed: 0 }
}

/** The job becomes several jobs, `branches`, in the order of its rows. */
export function split(
  { fetched: { queue, ticket } }: Attempt,
  branches: readonly Branch[],
  counts: Pick<Settlement, 'processed' | 'failed'>,
  effects: Effect[] = [],
): Settlement {
  // The branch that is pushed to the front last comes first in the queue.
  return {
    queue,
    ticket,
    move: null,
    also: branches.toReversed(),
    ...counts,
    ...(effects.length > 0 ? { effects } : {}),
  }
}

/** Tells the plugins how an attempt ended. */
export function reportEnd(engine: Engine, attempt: Attempt, outcome: Outcome): void {
  const { payload, began, startedAt } = attempt
  attempt.outcome = outcome
  if (began === 0) return
  attempt.ended = performance.now()
  const ms = attempt.ended - began
  for (const plugin of engine.plugins.ended) plugin.ended(payload, outcome, ms, startedAt)
}

/** Makes the settlement of an attempt with this outcome. */
export function settlement(
  engine: Engine,
  attempt: Attempt,
  outcome: Outcome,
  move: Settlement['move'],
  processed: 0 | 1,
  failed: 0 | 1,
): Settlement {
  const { queue, ticket } = attempt.fetched
  reportEnd(engine, attempt, outcome)
  return { queue, ticket, move, processed, failed, effects: effectsOf(engine, attempt.payload, outcome, attempt.ctx) }
}

/** The step that settles an attempt also releases its slots. */
export function withSlotRelease({ slotReleases }: Attempt, settlement: Settlement): Settlement {
  return slotReleases ? { ...settlement, effects: [...(settlement.effects ?? []), ...slotReleases] } : settlement
}
