/** Runs one job, and says how it ended. */

import { HighkiqError, isCausedBy, type Pause, type Snooze, type Verdict, verdictOf } from '../../job/errors.ts'
import { attemptEnded, editPayload, timeOf } from '../../job/payload.ts'
import { allAmong, jidsOf } from '../../job/rows.ts'
import type { Effect, FetchedJob, Settlement } from '../../store/contract.ts'
import { type Engine, effectsOf } from '../engine.ts'
import type { Outcome } from '../plugin.ts'
import type { Attempt } from './attempt.ts'
import { crashOf, reportCrashedOut } from './crash.ts'
import { runHandler } from './handler.ts'
import { keepEnd } from './results.ts'
import { judge } from './retry.ts'
import { failuresOf, rowsOf, settleEach, splitIntoRows } from './row-group.ts'

const CANCELLED_RUNNING = { kind: 'cancelled', begun: true } as const

/** Runs an attempt to its end. Returns undefined when its job belongs to another worker by now. Never throws. */
export function runAttempt(engine: Engine, attempt: Attempt): Promise<Settlement | undefined> {
  const concluded = conclude(engine, attempt)
  return attempt.definition?.options.keepResult === undefined ? concluded : keepEnd(engine, attempt, concluded)
}

async function conclude(engine: Engine, attempt: Attempt): Promise<Settlement | undefined> {
  const { jobLog } = engine
  let error: unknown
  jobLog?.start(attempt)
  try {
    let result = await runHandler(engine, attempt.ctx, attempt.definition)
    for (const plugin of engine.plugins) {
      const kept = plugin.returned?.(attempt.payload, result, attempt.ctx)
      if (kept) result = await kept
    }
    jobLog?.done(attempt)
    return done(engine, attempt, { kind: 'done', result })
  } catch (thrown) {
    error = thrown
  }
  if (attempt.ctx.abortReason?.code === 'LEASE_LOST') return undefined
  try {
    jobLog?.threw(attempt, error)
    return await settlementOf(engine, attempt, error)
  } catch {
    // An error whose own members throw when they are read: it is a failure like any other.
    return settlementOf(engine, attempt, new Error('the handler threw something that can not be read'))
  }
}

/** What an error that was thrown makes of its job. */
async function settlementOf(engine: Engine, attempt: Attempt, thrown: unknown): Promise<Settlement> {
  let error = thrown
  // Whatever a handler throws because it was told to end.
  if (attempt.ctx.abortReason?.code === 'JOB_CANCELLED') return dropped(engine, attempt, CANCELLED_RUNNING)
  const verdict = verdictOf(error) ?? (engine.isBusiness(error) ? 'business-failure' : undefined)
  if (attempt.payload.hk_list) {
    const settled = await settledByRow(engine, attempt, error, verdict)
    if (settled) return settled
  }
  if (verdict === 'business-failure') return done(engine, attempt, { kind: 'business-failure', error })
  if (verdict === 'discard') {
    await engine.died({ ...attempt.payload, discarded_at: timeOf(engine.now(), engine.wire) }, error)
    return failed(engine, attempt, { kind: 'discarded', error })
  }
  // All else would run again, or lie with the dead; a job that was cancelled just now does neither.
  if (await isMarked(engine, attempt)) return dropped(engine, attempt, CANCELLED_RUNNING)
  switch (verdict) {
    case 'snooze': {
      const { seconds } = error as Snooze
      if (Number.isFinite(seconds)) return snoozed(engine, attempt, seconds)
      error = new HighkiqError('INVALID_OPTION', `Snooze: ${seconds} is no number of seconds`, undefined, {
        cause: error,
      })
      break
    }
    case 'release':
      return goBack(engine, attempt, { kind: 'released' })
    case 'pause':
      return goBack(engine, attempt, { kind: 'paused' }, (error as Pause).end)
  }
  if (isStopped(attempt, error)) return goBack(engine, attempt, { kind: 'interrupted' })
  return failure(engine, attempt, error)
}

/** The worker stops. */
function isStopped({ ctx }: Attempt, error: unknown): boolean {
  return ctx.abortReason?.code === 'SHUTDOWN' || isCausedBy(error, 'SHUTDOWN')
}

/** Of a job that gets a list of rows: undefined when the error is about all of it. */
async function settledByRow(
  engine: Engine,
  attempt: Attempt,
  error: unknown,
  verdict: Verdict | undefined,
): Promise<Settlement | undefined> {
  const failures = verdict === 'batch-failure' ? failuresOf(error, jidsOf(attempt.payload).length) : undefined
  const settle = async (row: Attempt, i: number) =>
    failures?.has(i)
      ? settlementOf(engine, row, failures.get(i))
      : done(engine, row, { kind: 'done', result: undefined })
  const rows = rowsOf(attempt)
  if (!rows) return failures && !attempt.payload.hk_rows ? settle(attempt, 0) : undefined
  if (failures) {
    const settlement = await settleEach(attempt, rows, settle)
    const failed = rows.find(({ outcome }) => outcome && FAILED.has(outcome.kind))?.outcome
    tellEnded(engine, attempt, failed ?? { kind: 'done', result: undefined })
    return settlement
  }
  if (verdict !== undefined && goesOn(verdict, error)) return undefined
  if (isStopped(attempt, error)) return undefined
  if (await isMarked(engine, attempt)) return dropped(engine, attempt, CANCELLED_RUNNING)
  const { jid, class: name } = attempt.payload
  const about = { jid, class: name, queue: attempt.fetched.queue, attempt: attempt.ctx.attempt, next: 'row by row' }
  engine.report(error, { context: 'Job raised exception', job: attempt.payload, ...about })
  // As metrics see it, it failed and runs again.
  tellEnded(engine, attempt, { kind: 'retry', error, at: engine.now(), count: 0 })
  return splitIntoRows(engine, attempt, rows, { kind: 'apart', error })
}

const FAILED: ReadonlySet<Outcome['kind']> = new Set<Outcome['kind']>(['retry', 'dead', 'discarded'])

/** All of the rows together. */
function goesOn(verdict: Verdict, error: unknown): boolean {
  if (verdict === 'snooze') return Number.isFinite((error as Snooze).seconds)
  return verdict === 'release' || verdict === 'pause'
}

/** Never rejects: where the store can't say it, the job's next start asks again. */
async function isMarked({ cancellations }: Engine, { payload }: Attempt): Promise<boolean> {
  if (!cancellations.has(payload.jid)) return false
  return allAmong(payload, await cancellations.among(jidsOf(payload)).catch(() => new Set()))
}

/** It will not run (any more), and nothing is said to have failed. */
export function dropped(
  engine: Engine,
  attempt: Attempt,
  outcome: Extract<Outcome, { kind: 'cancelled' | 'expired' }>,
): Settlement {
  const { fetched, payload } = attempt
  const { jid, class: name } = payload
  engine.log.info({ jid, class: name, queue: fetched.queue }, `dropped: ${outcome.kind}`)
  const begun = outcome.kind === 'cancelled' && outcome.begun
  return {
    queue: fetched.queue,
    ticket: fetched.ticket,
    move: null,
    processed: begun ? 1 : 0,
    failed: 0,
    effects: ended(engine, attempt, outcome),
  }
}

type Interruption = Extract<Outcome, { kind: 'interrupted' | 'released' | 'paused' | 'untouched' }>

/** The same, told to whom it concerns if the job dies of it. */
async function goBack(...about: Parameters<typeof putBack>): Promise<Settlement> {
  const settlement = putBack(...about)
  await reportCrashedOut(about[0], settlement.queue, settlement.move)
  return settlement
}

/**
 * Back to its queue; nothing is counted and no retry is used up. One that may have doomed its process counts a stall, as
 * when the process had died at once.
 */
export function putBack(
  engine: Engine,
  attempt: Attempt,
  outcome: Interruption,
  end: 'front' | 'back' = 'front',
): Settlement {
  const { fetched, payload, began } = attempt
  if (outcome.kind !== 'untouched' && began > 0 && began <= (engine.fatalAt?.() ?? 0)) {
    const { queue, ticket } = fetched
    const stall = crashOf(engine, fetched, payload)
    return { queue, ticket, move: stall.to, processed: 0, failed: 0, effects: ended(engine, attempt, stall.outcome) }
  }
  const text = outcome.kind === 'untouched' ? fetched.text : editPayload(fetched.text, attemptEnded(payload))
  return {
    queue: fetched.queue,
    ticket: fetched.ticket,
    move: { to: 'queue', queue: fetched.queue, text, end },
    processed: 0,
    failed: 0,
    effects: ended(engine, attempt, outcome),
  }
}

/** What is not a job at all goes to the dead set as it is. */
export function bury(engine: Engine, fetched: FetchedJob): Settlement {
  return {
    queue: fetched.queue,
    ticket: fetched.ticket,
    move: { to: 'dead', text: fetched.text, score: engine.now() / 1000 },
    processed: 0,
    failed: 0,
  }
}

function done(
  engine: Engine,
  attempt: Attempt,
  outcome: Extract<Outcome, { kind: 'done' | 'business-failure' }>,
): Settlement {
  const { queue, ticket } = attempt.fetched
  return {
    queue,
    ticket,
    move: null,
    processed: 1,
    failed: 0,
    effects: ended(engine, attempt, outcome),
  }
}

function snoozed(engine: Engine, attempt: Attempt, seconds: number): Settlement {
  const { fetched, payload } = attempt
  return {
    queue: fetched.queue,
    ticket: fetched.ticket,
    move: {
      to: 'schedule',
      text: editPayload(fetched.text, attemptEnded(payload)),
      score: engine.now() / 1000 + seconds,
    },
    processed: 0,
    failed: 0,
    effects: ended(engine, attempt, { kind: 'snoozed', seconds }),
  }
}

async function failure(engine: Engine, attempt: Attempt, error: unknown): Promise<Settlement> {
  const { fetched, payload, definition } = attempt
  const { jid } = payload
  const now = engine.now()
  // A job that wraps another one fails as that one would.
  const wrapped = typeof payload.wrapped === 'string' ? engine.definition(payload.wrapped) : undefined
  const hooks = (wrapped ?? definition)?.options
  const verdict = judge({
    text: fetched.text,
    payload,
    queue: fetched.queue,
    error,
    now,
    wire: engine.wire,
    definition,
    hooks,
    maxRetries: engine.limits.retries,
    random: engine.random,
    backtraceCleaner: engine.backtraceCleaner,
    report: (thrown, during) => engine.report(thrown, { jid, during }),
    changes: attemptEnded(payload),
  })
  engine.report(error, {
    context: 'Job raised exception',
    job: verdict.payload,
    jid,
    class: payload.class,
    queue: fetched.queue,
    attempt: attempt.ctx.attempt,
    next: verdict.kind === 'retry' ? `retry at ${new Date(verdict.at * 1000).toISOString()}` : verdict.kind,
  })
  if (verdict.kind === 'retry') {
    return failed(
      engine,
      attempt,
      { kind: 'retry', error, at: verdict.at * 1000, count: verdict.count },
      { to: 'retry', text: verdict.text, score: verdict.at },
    )
  }
  if (verdict.kind === 'dropped') {
    await engine.died(verdict.payload, error)
    return failed(engine, attempt, { kind: 'dead', error })
  }
  let { dead } = verdict
  try {
    const wish = await hooks?.onExhausted?.(verdict.payload, error)
    if (wish === 'discard') dead = false
  } catch (thrown) {
    engine.report(thrown, { jid, during: 'onExhausted' })
  }
  await engine.died(dead ? verdict.payload : { ...verdict.payload, discarded_at: timeOf(now, engine.wire) }, error)
  const move = dead ? ({ to: 'dead', text: verdict.text, score: now / 1000 } as const) : null
  return failed(engine, attempt, { kind: 'dead', error }, move)
}

function failed(engine: Engine, attempt: Attempt, outcome: Outcome, move: Settlement['move'] = null): Settlement {
  const { queue, ticket } = attempt.fetched
  return {
    queue,
    ticket,
    move,
    processed: 1,
    failed: 1,
    effects: ended(engine, attempt, outcome),
  }
}

/** Tells the features how an attempt ended; answers what they want changed with its job. */
function ended(engine: Engine, attempt: Attempt, outcome: Outcome): Effect[] | undefined {
  tellEnded(engine, attempt, outcome)
  return effectsOf(engine, attempt.payload, outcome, attempt.ctx)
}

function tellEnded(engine: Engine, attempt: Attempt, outcome: Outcome): void {
  const { payload, began } = attempt
  attempt.outcome = outcome
  if (began === 0) return
  const ms = performance.now() - began
  for (const plugin of engine.plugins) plugin.ended?.(payload, outcome, ms)
}
