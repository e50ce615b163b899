/** Runs one job, and says how it ended. */

import { runLinks } from '../job/chain.ts'
import { JobContext, type TaskOfJob } from '../job/context.ts'
import type { JobDefinition } from '../job/definition.ts'
import { HighkiqError, isCausedBy, type Pause, type Snooze, verdictOf } from '../job/errors.ts'
import { attemptEnded, editPayload, type Payload, readPayload, timeOf } from '../job/payload.ts'
import type { Effect, Settlement, Taken } from '../store/contract.ts'
import type { Outcome } from './aspect.ts'
import { definitionOf, type Engine, effectsOf, type Threads } from './engine.ts'
import { keepEnd } from './results.ts'
import { judge } from './retry.ts'
import { stallOf, tellStalledOut } from './stall.ts'

/** A job that was taken, ready to run. */
export interface Attempt {
  taken: Taken
  payload: Payload
  ctx: JobContext
  definition: JobDefinition | undefined
  startedAt: number
  /** On the monotonic clock: when its handler was called; 0 before. */
  began: number
  /** The how-many-th it is that its worker took. */
  place: number
  /** How it ended, if its job did. */
  outcome: Outcome | undefined
}

/** How long a handler may go on after its timeout before its attempt is given up. */
const TIMEOUT_GRACE_MS = 1000
/** A timer can't wait longer, and fires at once instead. */
const LONGEST_TIMER_MS = 2 ** 31 - 1
const CANCELLED_RUNNING = { kind: 'cancelled', begun: true } as const

/** Reads a job; undefined when its text is no job at all. */
export function openAttempt(engine: Engine, taken: Taken, place = 0): Attempt | undefined {
  const payload = readPayload(taken.text)
  if (!payload) return undefined
  let task: TaskOfJob | undefined
  for (const aspect of engine.aspects) task ??= aspect.taskOf?.(payload)
  return {
    taken,
    payload,
    ctx: new JobContext(payload, taken.queue, {
      log: engine.log,
      attributes: engine.loggedJobAttributes,
      now: engine.now,
      task,
      isStopping: engine.isStopping,
    }),
    definition: definitionOf(engine, payload, taken.queue),
    startedAt: engine.now(),
    began: 0,
    place,
    outcome: undefined,
  }
}

/** Runs the handler inside the middleware; answers what it answers, throws what it throws. */
export function runHandler(engine: Engine, ctx: JobContext, definition: JobDefinition | undefined): unknown {
  if (ctx.payload.wrapped !== undefined) engine.unwrap?.(ctx)
  if (definition?.options.thread && engine.threads) return inThread(engine, engine.threads, ctx, definition)
  return around(engine, ctx, definition, async () => {
    if (!definition) throw unknownJob(ctx.payload.wrapped ?? ctx.payload.class)
    return (definition.handler as (ctx: JobContext, ...args: unknown[]) => unknown)(ctx, ...ctx.args)
  })
}

async function inThread(engine: Engine, threads: Threads, ctx: JobContext, definition: JobDefinition) {
  const thread = await threads.reserve(definition, ctx)
  try {
    return await around(engine, ctx, definition, () => thread.run())
  } finally {
    thread.release()
  }
}

/** Inside the middleware, and within the job's time. */
function around(
  { chain, use = [] }: Engine,
  ctx: JobContext,
  definition: JobDefinition | undefined,
  innermost: () => Promise<unknown>,
): Promise<unknown> {
  const links = definition?.options.use ? [...use, ...definition.options.use] : use
  const inside = links.length === 0 ? innermost : () => runLinks(links, ctx, innermost)
  const running = chain.size === 0 ? inside() : chain.run(ctx, inside)
  const timeout = definition?.options.timeout
  return timeout === undefined || timeout * 1000 > LONGEST_TIMER_MS ? running : withTimeout(running, ctx, timeout)
}

/** Runs an attempt to its end; undefined when its job belongs to others by now. Never throws. */
export function runAttempt(engine: Engine, attempt: Attempt): Promise<Settlement | undefined> {
  const concluded = conclude(engine, attempt)
  return attempt.definition?.options.keepResult === undefined ? concluded : keepEnd(engine, attempt, concluded)
}

async function conclude(engine: Engine, attempt: Attempt): Promise<Settlement | undefined> {
  const { jobLog } = engine
  let error: unknown
  attempt.began = performance.now()
  jobLog?.start(attempt)
  try {
    let result = await runHandler(engine, attempt.ctx, attempt.definition)
    for (const aspect of engine.aspects) {
      const kept = aspect.returned?.(attempt.payload, result, attempt.ctx)
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
    return failure(engine, attempt, new Error('the handler threw something that can not be read'))
  }
}

/** What an error that was thrown makes of its job. */
async function settlementOf(engine: Engine, attempt: Attempt, thrown: unknown): Promise<Settlement> {
  let error = thrown
  // Whatever a handler throws because it was told to end.
  if (attempt.ctx.abortReason?.code === 'JOB_CANCELLED') return dropped(engine, attempt, CANCELLED_RUNNING)
  const verdict = verdictOf(error) ?? (engine.isBusiness(error) ? 'business-failure' : undefined)
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
  if (attempt.ctx.abortReason?.code === 'SHUTDOWN' || isCausedBy(error, 'SHUTDOWN')) {
    return goBack(engine, attempt, { kind: 'interrupted' })
  }
  return failure(engine, attempt, error)
}

/** Never rejects: where the store can't say it, the job's next start asks again. */
async function isMarked({ marks }: Engine, { payload: { jid } }: Attempt): Promise<boolean> {
  return marks.has(jid) && (await marks.among([jid]).catch(() => new Set())).has(jid)
}

/** It will not run (any more), and nothing is said to have failed. */
export function dropped(
  engine: Engine,
  attempt: Attempt,
  outcome: Extract<Outcome, { kind: 'cancelled' | 'expired' }>,
): Settlement {
  const { taken, payload } = attempt
  const { jid, class: name } = payload
  engine.log.info({ jid, class: name, queue: taken.queue }, `dropped: ${outcome.kind}`)
  const begun = outcome.kind === 'cancelled' && outcome.begun
  return {
    queue: taken.queue,
    ticket: taken.ticket,
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
  await tellStalledOut(about[0], settlement.queue, settlement.move)
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
  const { taken, payload, began } = attempt
  if (outcome.kind !== 'untouched' && began > 0 && began <= (engine.doomedAt?.() ?? 0)) {
    const { queue, ticket } = taken
    const stall = stallOf(engine, taken, payload)
    return { queue, ticket, move: stall.to, processed: 0, failed: 0, effects: ended(engine, attempt, stall.outcome) }
  }
  const text = outcome.kind === 'untouched' ? taken.text : editPayload(taken.text, attemptEnded(payload))
  return {
    queue: taken.queue,
    ticket: taken.ticket,
    move: { to: 'queue', queue: taken.queue, text, end },
    processed: 0,
    failed: 0,
    effects: ended(engine, attempt, outcome),
  }
}

/** What is not a job at all goes to the dead set as it is. */
export function bury(engine: Engine, taken: Taken): Settlement {
  return {
    queue: taken.queue,
    ticket: taken.ticket,
    move: { to: 'dead', text: taken.text, score: engine.now() / 1000 },
    processed: 0,
    failed: 0,
  }
}

function done(
  engine: Engine,
  attempt: Attempt,
  outcome: Extract<Outcome, { kind: 'done' | 'business-failure' }>,
): Settlement {
  const { queue, ticket } = attempt.taken
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
  const { taken, payload } = attempt
  return {
    queue: taken.queue,
    ticket: taken.ticket,
    move: {
      to: 'schedule',
      text: editPayload(taken.text, attemptEnded(payload)),
      score: engine.now() / 1000 + seconds,
    },
    processed: 0,
    failed: 0,
    effects: ended(engine, attempt, { kind: 'snoozed', seconds }),
  }
}

async function failure(engine: Engine, attempt: Attempt, error: unknown): Promise<Settlement> {
  const { taken, payload, definition } = attempt
  const { jid } = payload
  const now = engine.now()
  // A job that wraps another one fails as that one would.
  const wrapped = typeof payload.wrapped === 'string' ? engine.definition(payload.wrapped) : undefined
  const hooks = (wrapped ?? definition)?.options
  const verdict = judge({
    text: taken.text,
    payload,
    queue: taken.queue,
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
    queue: taken.queue,
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
  const { queue, ticket } = attempt.taken
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
  const { payload, ctx, began } = attempt
  attempt.outcome = outcome
  if (began > 0) {
    const ms = performance.now() - began
    for (const aspect of engine.aspects) aspect.ended?.(payload, outcome, ms)
  }
  return effectsOf(engine, payload, outcome, ctx)
}

function unknownJob(name: string): HighkiqError {
  return new HighkiqError(
    'UNKNOWN_JOB',
    `no job named ${JSON.stringify(name)} is defined in this process: load its file (-r), or look at the spelling`,
  )
}

/** The signal is aborted first; a handler that does not care is left behind after a moment. */
async function withTimeout(running: Promise<unknown>, ctx: JobContext, seconds: number): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      ctx.abort('JOB_TIMEOUT', `ran longer than its timeout of ${seconds} s`)
      timer = setTimeout(() => reject(ctx.abortReason), TIMEOUT_GRACE_MS)
    }, seconds * 1000)
  })
  let thrown: unknown
  try {
    const result = await Promise.race([running, tooLong])
    if (ctx.abortReason?.code !== 'JOB_TIMEOUT') return result
  } catch (error) {
    thrown = error
  } finally {
    clearTimeout(timer)
  }
  // Whatever a handler throws or answers because it was told to stop: the timeout is the reason.
  throw ctx.abortReason?.code === 'JOB_TIMEOUT' ? ctx.abortReason : thrown
}
