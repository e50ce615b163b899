/** A job with several rows of a task: one call of the handler runs them all, and each row is settled on its own. */

import { attemptEnded, editPayload, type Payload, readPayload } from '../../job/payload.ts'
import { someRows, splitRows } from '../../job/rows.ts'
import type { Branch, Effect, Settlement } from '../../store/contract.ts'
import { type Engine, effectsOf } from '../engine.ts'
import type { Outcome } from '../plugin.ts'
import type { Attempt } from './attempt.ts'
import { split } from './settlements.ts'

/** Returns each row as an attempt of its own; undefined for a job with one row, and when the rows can't be separated. */
export function rowsOf(attempt: Attempt): Attempt[] | undefined {
  const { fetched, payload, ctx } = attempt
  return splitRows(fetched.text, payload)?.map((row, i) => ({
    ...attempt,
    fetched: { ...fetched, text: row.text },
    payload: row.payload,
    ctx: ctx.ofRow(i, row.payload),
    // Only the attempt of all rows took time.
    began: 0,
    outcome: undefined,
  }))
}

/** Returns the failures of a BatchFailure by the index of their row; undefined when an index is not below `count`. */
export function failuresOf(error: unknown, count: number): ReadonlyMap<number, unknown> | undefined {
  const { failures } = error as { failures?: unknown }
  if (!(failures instanceof Map)) return undefined
  const isIndex = (key: unknown) => Number.isInteger(key) && (key as number) >= 0 && (key as number) < count
  return [...failures.keys()].every(isIndex) ? failures : undefined
}

/** Settles each row with `settle`. Rows that run again become jobs of their own. */
export async function settleEach(
  attempt: Attempt,
  rows: readonly Attempt[],
  settle: (row: Attempt, i: number) => Promise<Settlement>,
): Promise<Settlement> {
  const effects: Effect[] = []
  const branches: Branch[] = []
  let failed: 0 | 1 = 0
  for (const [i, row] of rows.entries()) {
    const settled = await settle(row, i)
    if (settled.failed) failed = 1
    const own = (settled.effects ?? []).map(withOwnSlot)
    if (settled.move) branches.push({ to: settled.move, effects: own })
    else effects.push(...own)
  }
  attempt.rows = rows
  return split(attempt, branches, { processed: 1, failed }, effects)
}

/**
 * Puts each row to the front of the queue as a job of its own: after an error that any of them may have caused, or before
 * the job started.
 */
export function splitIntoRows(
  engine: Engine,
  attempt: Attempt,
  rows: readonly Attempt[],
  outcome: Extract<Outcome, { kind: 'split' }>,
): Settlement {
  const hasRun = 'error' in outcome
  const { queue } = attempt.fetched
  const branches = rows.map((row): Branch => {
    const text = hasRun ? editPayload(row.fetched.text, attemptEnded(row.payload)) : row.fetched.text
    row.outcome = outcome
    return {
      to: { to: 'queue', queue, text, end: 'front' },
      ...withEffects(effectsOf(engine, row.payload, outcome, row.ctx)),
    }
  })
  attempt.rows = rows
  return split(attempt, branches, { processed: hasRun ? 1 : 0, failed: hasRun ? 1 : 0 })
}

/**
 * Settles with `cancel` the rows that were cancelled before the job started, and requeues the others together. Returns
 * undefined when the rows can't be separated.
 */
export function withoutCancelledRows(
  engine: Engine,
  attempt: Attempt,
  cancelled: ReadonlySet<string>,
  cancel: (row: Attempt) => Settlement,
): Settlement | undefined {
  const { fetched, payload } = attempt
  const rows = rowsOf(attempt)
  if (!rows) return undefined
  const ended = rows.filter((row) => cancelled.has(row.payload.jid))
  const effects = ended.flatMap((row) => cancel(row).effects ?? [])
  const left = [...rows.keys()].filter((i) => !cancelled.has(rows[i]?.payload.jid as string))
  const text = someRows(fetched.text, payload, left)
  const rest = readPayload(text) as Payload
  const to = { to: 'queue', queue: fetched.queue, text, end: 'front' } as const
  attempt.rows = rows
  const branch = { to, ...withEffects(effectsOf(engine, rest, { kind: 'split' })) }
  return split(attempt, [branch], { processed: 0, failed: 0 }, effects)
}

/** Returns the ids of the rows that do not run again. */
export function endedRows({ rows = [] }: Attempt): string[] {
  return rows.filter(({ outcome }) => outcome && ENDS.has(outcome.kind)).map(({ payload }) => payload.jid)
}

const ENDS: ReadonlySet<Outcome['kind']> = new Set<Outcome['kind']>([
  'done',
  'business-failure',
  'dead',
  'discarded',
  'cancelled',
  'expired',
])

/** Alone, a row needs a slot of its own in its task's window. */
function withOwnSlot(effect: Effect): Effect {
  return effect.kind === 'event' && effect.window === 'keep' ? { ...effect, window: 'enter' } : effect
}

function withEffects(effects: Effect[] | undefined): { effects?: Effect[] } {
  return effects ? { effects } : {}
}
