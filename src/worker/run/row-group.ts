/** A job that is several rows of a task: they run in one call of the handler, and each of them has an end of its own. */

import { attemptEnded, editPayload, type Payload, readPayload } from '../../job/payload.ts'
import { someRows, splitRows } from '../../job/rows.ts'
import type { Branch, Effect, Settlement } from '../../store/contract.ts'
import { type Engine, effectsOf } from '../engine.ts'
import type { Outcome } from '../plugin.ts'
import type { Attempt } from './attempt.ts'

/** Its rows, each as the attempt that it would be alone; undefined when it is one, or what it holds can't be told apart. */
export function rowsOf(attempt: Attempt): Attempt[] | undefined {
  const { fetched, payload, ctx } = attempt
  return splitRows(fetched.text, payload)?.map((row, i) => ({
    ...attempt,
    fetched: { ...fetched, text: row.text },
    payload: row.payload,
    ctx: ctx.ofRow(i, row.payload),
    // Only all of it together is an attempt that took time.
    began: 0,
    outcome: undefined,
  }))
}

/** What a BatchFailure says, by the places of `count` rows; undefined when it speaks of others. */
export function failuresOf(error: unknown, count: number): ReadonlyMap<number, unknown> | undefined {
  const { failures } = error as { failures?: unknown }
  if (!(failures instanceof Map)) return undefined
  const isPlace = (key: unknown) => Number.isInteger(key) && (key as number) >= 0 && (key as number) < count
  return [...failures.keys()].every(isPlace) ? failures : undefined
}

/** Each row ends as `settle` says; those that go on are jobs of their own from here on. */
export async function settleEach(
  attempt: Attempt,
  rows: readonly Attempt[],
  settle: (row: Attempt, i: number) => Promise<Settlement>,
): Promise<Settlement> {
  const effects: Effect[] = []
  const also: Branch[] = []
  let failed: 0 | 1 = 0
  for (const [i, row] of rows.entries()) {
    const settled = await settle(row, i)
    if (settled.failed) failed = 1
    const own = (settled.effects ?? []).map(withPlace)
    if (settled.move) also.push({ to: settled.move, effects: own })
    else effects.push(...own)
  }
  attempt.rows = rows
  return { ...settlementAs(attempt, also), processed: 1, failed, effects }
}

/**
 * Each row goes to the front of the queue as a job of its own. With an error: one of them may be its cause. Without: it
 * had not begun.
 */
export function splitIntoRows(
  engine: Engine,
  attempt: Attempt,
  rows: readonly Attempt[],
  outcome: Extract<Outcome, { kind: 'apart' }>,
): Settlement {
  const hasRun = 'error' in outcome
  const { queue } = attempt.fetched
  const also = rows.map((row): Branch => {
    const text = hasRun ? editPayload(row.fetched.text, attemptEnded(row.payload)) : row.fetched.text
    row.outcome = outcome
    return {
      to: { to: 'queue', queue, text, end: 'front' },
      ...withEffects(effectsOf(engine, row.payload, outcome, row.ctx)),
    }
  })
  attempt.rows = rows
  return { ...settlementAs(attempt, also), processed: hasRun ? 1 : 0, failed: hasRun ? 1 : 0 }
}

/**
 * Some of its rows were cancelled before it began, and end as `drop` says; the others go back together. Undefined: they
 * can't be told apart.
 */
export function withoutCancelledRows(
  engine: Engine,
  attempt: Attempt,
  cancelled: ReadonlySet<string>,
  drop: (row: Attempt) => Settlement,
): Settlement | undefined {
  const { fetched, payload } = attempt
  const rows = rowsOf(attempt)
  if (!rows) return undefined
  const ended = rows.filter((row) => cancelled.has(row.payload.jid))
  const effects = ended.flatMap((row) => drop(row).effects ?? [])
  const places = [...rows.keys()].filter((i) => !cancelled.has(rows[i]?.payload.jid as string))
  const text = someRows(fetched.text, payload, places)
  const rest = readPayload(text) as Payload
  const to = { to: 'queue', queue: fetched.queue, text, end: 'front' } as const
  attempt.rows = rows
  const also = [{ to, ...withEffects(effectsOf(engine, rest, { kind: 'apart' })) }]
  return { ...settlementAs(attempt, also), processed: 0, failed: 0, effects }
}

/** Those of its rows that have ended. */
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

function settlementAs({ fetched: { queue, ticket } }: Attempt, also: readonly Branch[]) {
  // What goes to the front last is the first one there.
  return { queue, ticket, move: null, also: also.toReversed() }
}

/** Alone a row needs a place of its own in its task's window. */
function withPlace(effect: Effect): Effect {
  return effect.kind === 'event' && effect.window === 'keep' ? { ...effect, window: 'enter' } : effect
}

function withEffects(effects: Effect[] | undefined): { effects?: Effect[] } {
  return effects ? { effects } : {}
}
