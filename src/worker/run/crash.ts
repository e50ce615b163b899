/**
 * Decides what happens to a job whose process died, or ended with an uncaught error, while it held the job.
 *
 * A rescue counts a crash for each job, rows too, whether its handler had started or not: the store does
 * not know that for sure. A row also counts an attempt. A worker that stops after an uncaught error of its own knows it: it
 * counts a crash only for jobs whose handlers had begun before that error. No retry is counted in either case.
 */

import { attemptEnded, editPayload, type Payload, readPayload, timeOf } from '../../job/payload.ts'
import type { Settlement } from '../../store/contract.ts'
import { definitionOf, type Engine } from '../engine.ts'
import type { Outcome } from '../plugin.ts'
import { type Attempt, membersAtEnd } from './attempt.ts'
import { keepOutcome } from './results.ts'
import { type RequeueOutcome, requeue, settlement } from './settlements.ts'

const MAX_CRASHES = 3
/** The error class that is stored with such a job. */
const CRASHED = 'Crashed'

export interface Crash {
  to: NonNullable<Settlement['move']>
  outcome: Extract<Outcome, { kind: 'rescued' | 'crashed-out' }>
}

/**
 * Moves the job to the front of its queue, or to the dead set once it has crashed `maxCrashes` times in a row. `changes` are
 * the members that change in the text of the job.
 */
export function crashOf(
  engine: Engine,
  { queue, text }: { queue: string; text: string },
  payload: Payload,
  changes: Partial<Payload> = attemptEnded(payload, true),
): Crash {
  const { now, wire } = engine
  const crashes = changes.hk_crashes as number
  if (crashes < (definitionOf(engine, payload, queue)?.options.maxCrashes ?? MAX_CRASHES)) {
    const to = { to: 'queue', queue, text: editPayload(text, changes), end: 'front' } as const
    return { to, outcome: { kind: 'rescued', crashes } }
  }
  const error_message = `its process died ${crashes} times in a row while it held the job`
  const last = { ...changes, error_class: CRASHED, error_message, failed_at: timeOf(now(), wire) }
  const to = { to: 'dead', text: editPayload(text, last, wire), score: now() / 1000 } as const
  return { to, outcome: { kind: 'crashed-out', crashes } }
}

/**
 * Requeues a job. If its handler had begun before the process met a fatal error, it counts a crash, as in a rescue: it
 * goes to the front of its queue, or to the dead set after the last crash.
 */
export function requeueOrCrash(
  engine: Engine,
  attempt: Attempt,
  outcome: RequeueOutcome,
  end?: 'front' | 'back',
): Settlement {
  const { fetched, payload, began } = attempt
  const hasCrashed = outcome.kind !== 'not-started' && began > 0 && began <= (engine.fatalAt?.() ?? 0)
  if (!hasCrashed) return requeue(engine, attempt, outcome, end)
  const crash = crashOf(engine, fetched, payload, membersAtEnd(attempt, true))
  return settlement(engine, attempt, crash.outcome, crash.to, 0, 0)
}

/** Keeps the outcome of a job that went to the dead set by its last crash, and calls the app's death handlers. */
export async function reportCrashedOut(engine: Engine, queue: string, to: Settlement['move']): Promise<void> {
  const dead = await keepCrashedOut(engine, queue, to)
  if (dead) await engine.died(dead.payload, dead.error)
}

/** Keeps the outcome of a job that went to the dead set by its last crash. Returns what death handlers get; undefined for any other job. */
export async function keepCrashedOut(
  engine: Engine,
  queue: string,
  to: Settlement['move'],
): Promise<{ payload: Payload; error: Error } | undefined> {
  const payload = to?.to === 'dead' ? readPayload(to.text) : undefined
  if (payload?.error_class !== CRASHED) return undefined
  const error = Object.assign(new Error(payload.error_message), { name: CRASHED })
  await keepOutcome(engine, payload, definitionOf(engine, payload, queue), { kind: 'dead', error })
  return { payload, error }
}
