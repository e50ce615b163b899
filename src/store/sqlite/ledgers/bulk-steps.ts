/**
 * Moves many rows from `enqueued` over `working` to `finished` with one statement, without reading them. Effects on rows
 * that are in any other state are left to `Ledgers`, which reads each row.
 */

import { splitTaskJid } from '../../../job/payload.ts'
import type { Effect, EventEffect } from '../../contract.ts'
import { dropsArgs, isStopped } from '../../sql/task-row.ts'
import type { Database } from '../file/database.ts'
import { sql } from '../sql.generated.ts'
import type { TaskLedger } from './task-ledger.ts'

/** Rows whose indexes are further apart are changed by different statements. */
const FAR = 64

interface Step {
  index: number
  effect: EventEffect
}

/** Effects of the same kind on rows of one task. */
interface Group {
  ledger: TaskLedger
  steps: Step[]
}

/** Applies effects in bulk, and returns those it has applied. The others must be applied after them. */
export function advanceInBulk(
  db: Database,
  ledgerOf: (id: string) => TaskLedger | undefined,
  effects: readonly Effect[],
  now: number,
): ReadonlySet<Effect> {
  const applied = new Set<Effect>()
  for (const { ledger, steps } of groupsOf(effects, ledgerOf)) {
    for (const near of neighbours(steps)) {
      if (!change(db, ledger, near, now)) continue
      for (const { effect } of near) applied.add(effect)
    }
  }
  return applied
}

/** Groups the effects on rows that have no other effect in this operation. */
function groupsOf(effects: readonly Effect[], ledgerOf: (id: string) => TaskLedger | undefined): Iterable<Group> {
  const seen = new Set<string>()
  const twice = new Set<string>()
  for (const effect of effects) {
    if (effect.kind !== 'event') continue
    if (seen.has(effect.jid)) twice.add(effect.jid)
    seen.add(effect.jid)
  }
  const groups = new Map<string, Group>()
  for (const effect of effects) {
    if (!isPlain(effect) || twice.has(effect.jid)) continue
    const { id, index } = splitTaskJid(effect.jid)
    const ledger = ledgerOf(id)
    // A row that was read may have changes that are not written yet.
    if (!ledger || ledger.events.has(index) || (effect.status === 'working' && isStopped(ledger.task))) continue
    const kind = `${effect.status} ${id} ${effect.run} ${effect.attempt}`
    const group = groups.get(kind)
    if (group) group.steps.push({ index, effect })
    else groups.set(kind, { ledger, steps: [{ index, effect }] })
  }
  return groups.values()
}

function isPlain(effect: Effect): effect is EventEffect {
  if (effect.kind !== 'event' || effect.messages?.length || effect.code !== undefined) return false
  return effect.status === 'working'
    ? effect.window === 'keep'
    : effect.status === 'finished' && effect.window === 'leave'
}

function* neighbours(steps: Step[]): Generator<Step[]> {
  steps.sort((a, b) => a.index - b.index)
  let from = 0
  for (let i = 1; i <= steps.length; i++) {
    const next = steps[i]
    if (next && next.index - (steps[i - 1] as Step).index <= FAR) continue
    yield steps.slice(from, i)
    from = i
  }
}

/** Returns false, and changes nothing, if one of the rows is not in the state before this step. */
function change(db: Database, { task }: TaskLedger, steps: readonly Step[], now: number): boolean {
  const [{ index: first, effect }] = steps as [Step]
  const last = (steps.at(-1) as Step).index
  const { run, attempt, status } = effect
  const of = <T>(none: T, value: (effect: EventEffect) => T) => {
    const list = Array<T>(last - first + 1).fill(none)
    for (const step of steps) list[step.index - first] = value(step.effect)
    return list
  }
  const times = (value: (effect: EventEffect) => number | undefined) =>
    Buffer.from(
      of('', (one) => `${value(one) ?? ''}`)
        .map((time) => time.padEnd(16))
        .join(''),
    )
  const at = times((one) => one.at)
  const step = attempt * 2
  const found = db.first<{ n: number; working: number; inWindow: number }>(
    ...([sql.event.plain, task.key, first, last, run, step - 1, step, task.next, at] as const),
  )
  if (found?.n !== steps.length) return false
  const { n, working, inWindow } = found
  if (status === 'working') {
    if (working > 0) return false
    db.run(sql.event.begin, task.key, first, last, step, at)
    task.working += n
  } else {
    const startedAt = times((one) => one.startedAt)
    const results = steps.some(({ effect }) => effect.result !== undefined)
      ? of<unknown>(null, (one) => one.result)
      : []
    const drop = dropsArgs(task, 'finished') ? 1 : 0
    db.run(sql.event.finish, task.key, first, last, step + 1, at, startedAt, JSON.stringify(results), drop)
    task.finished += n
    task.working -= working
    task.in_window -= inWindow
  }
  task.enqueued -= n - working
  task.progress_at = now
  return true
}
