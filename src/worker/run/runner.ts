/** Runs one attempt: calls the handler, inside the middleware and with its timeout, and decides how the job is settled. */

import { runLinks } from '../../job/chain.ts'
import type { JobContext } from '../../job/context.ts'
import type { JobDefinition } from '../../job/definition.ts'
import {
  HighkiqError,
  isCausedBy,
  messageOf,
  type Pause,
  type Snooze,
  type Verdict,
  verdictOf,
} from '../../job/errors.ts'
import type { OverLimit } from '../../job/limit.ts'
import { meantBy } from '../../job/options.ts'
import { timeOf } from '../../job/payload.ts'
import { allAmong, jidsOf } from '../../job/rows.ts'
import { answerOfHandler } from '../../job/wait.ts'
import type { Limit, Settlement } from '../../store/contract.ts'
import type { Engine, Threads } from '../engine.ts'
import type { Outcome } from '../plugin.ts'
import { type Attempt, membersAtEnd } from './attempt.ts'
import { reportCrashedOut, requeueOrCrash } from './crash.ts'
import { keepEnd } from './results.ts'
import { judge } from './retry.ts'
import { failuresOf, rowsOf, settleEach, splitIntoRows } from './row-group.ts'
import { awaitsLimit, dropped, failedForGood, finished, reportEnd, retry, snoozed } from './settlements.ts'

/** The attempt fails this long after its timeout even if the handler has not returned. */
const TIMEOUT_GRACE_MS = 1000
/** A longer timer would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

const CANCELLED_RUNNING = { kind: 'cancelled', begun: true } as const

/** Calls the handler of an attempt. Its promise is settled by `settleResult` or `settleError`. Never throws. */
export function callHandler(engine: Engine, attempt: Attempt): Promise<unknown> {
  try {
    engine.jobLog?.start(attempt)
    return Promise.resolve(runHandler(engine, attempt.ctx, attempt.definition))
  } catch (thrown) {
    return Promise.reject(thrown)
  }
}

/** Makes the settlement of an attempt whose handler returned. `first` is the first plugin that has not seen the result. */
export function settleResult(engine: Engine, attempt: Attempt, result: unknown, first = 0): Settling {
  const { jobLog } = engine
  const { ctx, payload } = attempt
  if (ctx.pendingDeferral) {
    return ctx.pendingDeferral.then(
      () => settleResult(engine, attempt, result, first),
      (thrown) => settleError(engine, attempt, thrown),
    )
  }
  if (ctx.isDeferred && ctx.abortReason?.code === 'JOB_CANCELLED') return settleError(engine, attempt, ctx.abortReason)
  try {
    if (ctx.isDeferred) {
      jobLog?.done(attempt)
      return finished(engine, attempt, { kind: 'deferred' })
    }
    const { returned } = engine.plugins.concerned(payload)
    for (let i = first; i < returned.length; i++) {
      const kept = returned[i]?.returned(payload, result, ctx)
      if (!kept) continue
      return kept.then(
        (instead) => settleResult(engine, attempt, instead, i + 1),
        (thrown) => settleError(engine, attempt, thrown),
      )
    }
    jobLog?.done(attempt)
    return withResultKept(engine, attempt, finished(engine, attempt, { kind: 'done', result }))
  } catch (thrown) {
    return settleError(engine, attempt, thrown)
  }
}

/**
 * Makes the settlement of an attempt in which the handler, middleware or a plugin threw. Rejects only when that fails twice.
 */
export function settleError(engine: Engine, attempt: Attempt, error: unknown): Promise<Settlement | undefined> {
  return withResultKept(engine, attempt, concludeError(engine, attempt, error))
}

/** Returns the settlement; of a job with `keepResult` it resolves once the result is kept. */
function withResultKept<Made extends Settling>(engine: Engine, attempt: Attempt, made: Made) {
  return attempt.definition?.options.keepResult === undefined ? made : keepEnd(engine, attempt, made)
}

/** A settlement; undefined when the job belongs to another worker by now. */
type Settling = Settlement | Promise<Settlement | undefined>

async function concludeError(engine: Engine, attempt: Attempt, error: unknown): Promise<Settlement | undefined> {
  if (attempt.ctx.abortReason?.code === 'LEASE_LOST') return undefined
  try {
    engine.jobLog?.threw(attempt, error)
    return await settlementOf(engine, attempt, error)
  } catch (reading) {
    // Reading the members of the error threw, such as a getter of the app: the job fails like any other.
    engine.report(reading, { jid: attempt.payload.jid, during: 'settling a job' })
    return settlementOf(engine, attempt, new Error(messageOf(error)))
  }
}

/** Decides what an error of the handler, of middleware, of a plugin or of the timeout means for its job. */
async function settlementOf(engine: Engine, attempt: Attempt, thrown: unknown): Promise<Settlement> {
  let error = thrown
  // The handler threw because its signal was aborted.
  if (attempt.ctx.abortReason?.code === 'JOB_CANCELLED') return dropped(engine, attempt, CANCELLED_RUNNING)
  const verdict = verdictOf(error) ?? (engine.isBusiness(error) ? 'business-failure' : undefined)
  if (attempt.payload.hk_list) {
    const settled = await settledByRow(engine, attempt, error, verdict)
    if (settled) return settled
  }
  if (verdict === 'business-failure') return finished(engine, attempt, { kind: 'business-failure', error })
  if (verdict === 'discard') {
    await engine.died({ ...attempt.payload, discarded_at: timeOf(engine.now(), engine.wire) }, error)
    return failedForGood(engine, attempt, { kind: 'discarded', error })
  }
  // Any other error would retry the job or move it to the dead set: not when it was cancelled just now.
  if (await isCancelled(engine, attempt)) return dropped(engine, attempt, CANCELLED_RUNNING)
  switch (verdict) {
    case 'snooze': {
      const { seconds } = error as Snooze
      if (Number.isFinite(seconds)) return snoozed(engine, attempt, seconds)
      const message = `Snooze: seconds must be a finite number (got ${seconds})`
      error = new HighkiqError('INVALID_OPTION', message, undefined, { cause: error })
      break
    }
    case 'release':
      return requeueOrReportCrash(engine, attempt, { kind: 'released' })
    case 'over-limit':
      return awaitsLimit(engine, attempt, (error as OverLimit).limit as Limit, { kind: 'released' })
    case 'pause':
      return requeueOrReportCrash(engine, attempt, { kind: 'paused' }, (error as Pause).end)
  }
  if (isStopped(attempt, error)) return requeueOrReportCrash(engine, attempt, { kind: 'interrupted' })
  return failure(engine, attempt, error)
}

/** Returns whether the attempt ended because its worker stops. */
function isStopped({ ctx }: Attempt, error: unknown): boolean {
  return ctx.abortReason?.code === 'SHUTDOWN' || isCausedBy(error, 'SHUTDOWN')
}

/** Settles a job with a list of rows row by row; undefined when the error concerns all of them. */
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
      : finished(engine, row, { kind: 'done', result: undefined })
  const rows = rowsOf(attempt)
  if (!rows) return failures && !attempt.payload.hk_rows ? settle(attempt, 0) : undefined
  if (failures) {
    const settlement = await settleEach(attempt, rows, settle)
    const failed = rows.find(({ outcome }) => outcome && FAILED.has(outcome.kind))?.outcome
    reportEnd(engine, attempt, failed ?? { kind: 'done', result: undefined })
    return settlement
  }
  if (verdict !== undefined && isForAllRows(verdict, error)) return undefined
  if (isStopped(attempt, error)) return undefined
  if (await isCancelled(engine, attempt)) return dropped(engine, attempt, CANCELLED_RUNNING)
  const { jid, class: name } = attempt.payload
  const about = { jid, class: name, queue: attempt.fetched.queue, attempt: attempt.ctx.attempt, next: 'row by row' }
  engine.report(error, { context: 'Job raised exception', job: attempt.payload, ...about })
  // For metrics the job failed and runs again.
  reportEnd(engine, attempt, { kind: 'retry', error, at: engine.now(), count: 0 })
  return splitIntoRows(engine, attempt, rows, { kind: 'split', error })
}

const FAILED: ReadonlySet<Outcome['kind']> = new Set<Outcome['kind']>(['retry', 'dead', 'discarded'])

/** Returns whether a verdict applies to all rows together. */
function isForAllRows(verdict: Verdict, error: unknown): boolean {
  if (verdict === 'snooze') return Number.isFinite((error as Snooze).seconds)
  return verdict === 'release' || verdict === 'pause' || verdict === 'over-limit'
}

/** Never rejects: when the store does not answer, the next start of the job asks again. */
async function isCancelled({ cancellations }: Engine, { payload }: Attempt): Promise<boolean> {
  if (!cancellations.has(payload.jid)) return false
  return allAmong(payload, await cancellations.among(jidsOf(payload)).catch(() => new Set()))
}

async function failure(engine: Engine, attempt: Attempt, error: unknown): Promise<Settlement> {
  const { fetched, payload, definition } = attempt
  const { jid } = payload
  const now = engine.now()
  // The options of the wrapped job decide.
  const wrapped = typeof payload.wrapped === 'string' ? engine.definition(payload.wrapped) : undefined
  const hooks = (wrapped ?? definition)?.options
  const verdict = judge(engine, attempt, { error, now, hooks, changes: membersAtEnd(attempt) })
  engine.report(error, {
    context: 'Job raised exception',
    job: verdict.payload,
    jid,
    class: payload.class,
    queue: fetched.queue,
    attempt: attempt.ctx.attempt,
    next: verdict.kind === 'retry' ? `retry at ${new Date(verdict.at * 1000).toISOString()}` : verdict.kind,
  })
  if (verdict.kind === 'retry') return retry(engine, attempt, error, verdict)
  if (verdict.kind === 'deleted') {
    await engine.died(verdict.payload, error)
    return failedForGood(engine, attempt, { kind: 'dead', error })
  }
  let keeps = verdict.dead
  try {
    const call = () => hooks?.onExhausted?.(verdict.payload, error)
    if ((await answerOfHandler(`onExhausted of ${payload.class}`, call)) === 'discard') keeps = false
  } catch (thrown) {
    engine.report(thrown, { jid, during: 'onExhausted' })
  }
  await engine.died(keeps ? verdict.payload : { ...verdict.payload, discarded_at: timeOf(now, engine.wire) }, error)
  return failedForGood(engine, attempt, { kind: 'dead', error }, keeps ? verdict.text : undefined, now)
}

/** Calls the app's death handlers if the job crashed too often and goes to the dead set. */
async function requeueOrReportCrash(...about: Parameters<typeof requeueOrCrash>): Promise<Settlement> {
  const settlement = requeueOrCrash(...about)
  await reportCrashedOut(about[0], settlement.queue, settlement.move)
  return settlement
}

// Calling the handler --------------------------------------------------------------------------------------------

/** Runs the handler inside the middleware. Resolves with its result and rejects with its error. */
export function runHandler(engine: Engine, ctx: JobContext, definition: JobDefinition | undefined): unknown {
  if (ctx.payload.encrypt) engine.decrypt(ctx)
  if (ctx.payload.wrapped !== undefined) engine.unwrap?.(ctx)
  if (definition?.options.thread && engine.threads) return inThread(engine, engine.threads, ctx, definition)
  return around(engine, ctx, definition, () => {
    if (!definition) throw unknownJob(engine, ctx.payload.wrapped ?? ctx.payload.class)
    return (definition.handler as (ctx: JobContext, ...args: unknown[]) => unknown)(ctx, ...ctx.args)
  })
}

async function inThread(engine: Engine, threads: Threads, ctx: JobContext, definition: JobDefinition) {
  const thread = await threads.reserve(definition, ctx)
  try {
    // Loading the file of the handler may have taken longer than the lease.
    if (engine.lease && !(await engine.lease.confirm())) throw leaseLost(ctx)
    return await around(engine, ctx, definition, () => thread.run())
  } finally {
    thread.release()
  }
}

function leaseLost({ abortReason }: JobContext): Error {
  return abortReason ?? new HighkiqError('LEASE_LOST', 'this process lost its lease before the job began')
}

/** Runs `innermost` inside the middleware and with the job's timeout. */
function around(
  { chain, use = [], within }: Engine,
  ctx: JobContext,
  definition: JobDefinition | undefined,
  innermost: () => unknown,
): unknown {
  const links = definition?.options.use ? [...use, ...definition.options.use] : use
  const inside = links.length === 0 ? innermost : () => runLinks(links, ctx, innermost)
  const running = within ? within(ctx.payload, () => through(chain, ctx, inside)) : through(chain, ctx, inside)
  const timeout = definition?.options.timeout
  return timeout === undefined || timeout * 1000 > LONGEST_TIMER_MS ? running : withTimeout(running, ctx, timeout)
}

function through(chain: Engine['chain'], ctx: JobContext, inside: () => unknown): unknown {
  return chain.size === 0 ? inside() : chain.run(ctx, inside)
}

function unknownJob({ jobNames }: Engine, name: string): HighkiqError {
  const meant = meantBy(name, jobNames?.() ?? [])
  const hint = meant === undefined ? '' : ` (did you mean ${meant}?)`
  const message = `no job named ${JSON.stringify(name)} is defined in this process${hint}: load its file (-r), or check the spelling`
  return new HighkiqError('UNKNOWN_JOB', message)
}

/** Aborts the signal after `seconds`, and fails the attempt a moment later if the handler has not returned. */
async function withTimeout(running: unknown, ctx: JobContext, seconds: number): Promise<unknown> {
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
  // The timeout is the reason for whatever the handler returned or threw after its signal was aborted.
  throw ctx.abortReason?.code === 'JOB_TIMEOUT' ? ctx.abortReason : thrown
}
