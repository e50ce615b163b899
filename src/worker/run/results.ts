/** Keeps the results of jobs with `keepResult` for callers that wait: what the handler returned, or how the job failed. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { JobContext } from '../../job/context.ts'
import type { JobDefinition } from '../../job/definition.ts'
import { classOf, isUnreachable, messageOf } from '../../job/errors.ts'
import type { Payload } from '../../job/payload.ts'
import { type End, NOT_RUN, resultText, writeEnd } from '../../job/result.ts'
import { jidsOf, resultOfRow } from '../../job/rows.ts'
import type { Settlement } from '../../store/contract.ts'
import type { Engine } from '../engine.ts'
import type { Outcome } from '../plugin.ts'
import type { Attempt } from './attempt.ts'

const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 1000

/** Keeps the result of an attempt before its job is settled: if the process dies in between, the job runs again. */
export async function keepEnd(
  engine: Engine,
  attempt: Attempt,
  concluded: Settlement | Promise<Settlement | undefined>,
): Promise<Settlement | undefined> {
  const settlement = await concluded
  const { definition, ctx } = attempt
  if (settlement) {
    for (const { payload, outcome } of endsOf(attempt)) await keepOutcome(engine, payload, definition, outcome, ctx)
  }
  return settlement
}

/** Returns the outcome of each row, or of the one job. */
function endsOf({ rows, payload, outcome }: Attempt): { payload: Payload; outcome: Outcome }[] {
  if (rows) return rows.flatMap(endsOf)
  if (!outcome) return []
  return jidsOf(payload).map((jid, i) => {
    const own = outcome.kind === 'done' ? { ...outcome, result: resultOfRow(payload, outcome.result, i) } : outcome
    return { payload: { ...payload, jid }, outcome: own }
  })
}

/** Keeps one outcome. While the store does not answer it tries again until `ctx` is aborted; without `ctx` it tries once. */
export async function keepOutcome(
  engine: Engine,
  payload: Payload,
  definition: JobDefinition | undefined,
  outcome: Outcome,
  ctx?: JobContext,
): Promise<void> {
  const seconds = definition?.options.keepResult
  const text = seconds === undefined ? undefined : endText(engine, payload, outcome)
  if (seconds === undefined || text === undefined) return
  const { jid } = payload
  for (let pause = FIRST_PAUSE_MS; !ctx || (await ctx.isStillOwn()); pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      await engine.store.results.keep(jid, text, seconds)
      return
    } catch (thrown) {
      if (!isUnreachable(thrown) || !ctx || ctx.abortReason) {
        engine.report(thrown, { jid, during: 'keeping a result' })
        return
      }
    }
    await sleep(pause)
  }
}

/** Returns the end of a job as it is kept; undefined when the job runs again. */
export function endText(engine: Pick<Engine, 'log'>, payload: Payload, outcome: Outcome): string | undefined {
  const end = endOf(engine, payload, outcome)
  return end && writeEnd(end)
}

function endOf(engine: Pick<Engine, 'log'>, { jid, class: name }: Payload, outcome: Outcome): End | undefined {
  if (outcome.kind === 'done') {
    const { text, problem } = resultText(outcome.result)
    if (problem === undefined) return { result: text }
    engine.log.warn({ jid, class: name }, `${name}: ${problem}; store it elsewhere and return its location`)
    return { problem }
  }
  if (outcome.kind in NOT_RUN) return { failed: NOT_RUN[outcome.kind as keyof typeof NOT_RUN] }
  if (outcome.kind === 'retry' || outcome.kind === 'split' || !('error' in outcome)) return undefined
  const { error } = outcome
  const code = codeOf(error)
  const about = { message: messageOf(error), class: classOf(error) }
  return { failed: code === undefined ? about : { ...about, code } }
}

function codeOf(error: unknown): string | undefined {
  try {
    const { code } = (error ?? {}) as { code?: unknown }
    return typeof code === 'string' ? code : undefined
  } catch {
    return undefined
  }
}
