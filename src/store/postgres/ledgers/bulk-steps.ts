/**
 * Moves many rows, of any tasks, from `enqueued` over `working` to `finished` with one statement for each of the two steps,
 * without reading them. Effects on rows that are in any other state are left to `Ledgers`, which reads each row.
 */

import { splitTaskJid } from '../../../job/payload.ts'
import type { Effect, EventEffect } from '../../contract.ts'
import { dropsArgs, isStopped } from '../../sql/task-row.ts'
import type { Database } from '../server/database.ts'
import { sql } from '../sql.generated.ts'
import type { TaskLedger } from './task-ledger.ts'

interface Step {
  ledger: TaskLedger
  index: number
  effect: EventEffect
}

/** A row that a statement has changed. */
interface Changed {
  task: number
  idx: number
}

/** Applies effects in bulk, and returns those it has applied. The others must be applied after them. */
export async function advanceInBulk(
  db: Database,
  ledgerOf: (id: string) => TaskLedger | undefined,
  effects: readonly Effect[],
  now: number,
): Promise<ReadonlySet<Effect>> {
  const applied = new Set<Effect>()
  const steps = stepsOf(effects, ledgerOf)
  for (const [status, change] of [
    ['working', begin],
    ['finished', finish],
  ] as const) {
    const some = new Map<string, Step>()
    for (const step of steps) if (step.effect.status === status) some.set(keyOf(step.ledger.task.key, step.index), step)
    if (some.size === 0) continue
    for (const { task, idx } of await change(db, some)) {
      const step = some.get(keyOf(task, idx)) as Step
      step.ledger.task.progress_at = now
      applied.add(step.effect)
    }
  }
  return applied
}

/** Returns the effects on rows that have no other effect in this operation. */
function stepsOf(effects: readonly Effect[], ledgerOf: (id: string) => TaskLedger | undefined): Step[] {
  const seen = new Set<string>()
  const twice = new Set<string>()
  for (const effect of effects) {
    if (effect.kind !== 'event') continue
    if (seen.has(effect.jid)) twice.add(effect.jid)
    seen.add(effect.jid)
  }
  const steps: Step[] = []
  for (const effect of effects) {
    if (!isPlain(effect) || twice.has(effect.jid)) continue
    const { id, index } = splitTaskJid(effect.jid)
    const ledger = ledgerOf(id)
    // A row that was read may have changes that are not written yet.
    if (!ledger || ledger.events.has(index) || (effect.status === 'working' && isStopped(ledger.task))) continue
    steps.push({ ledger, index, effect })
  }
  return steps
}

function isPlain(effect: Effect): effect is EventEffect {
  if (effect.kind !== 'event' || effect.messages?.length || effect.code !== undefined) return false
  return effect.status === 'working'
    ? effect.window === 'keep'
    : effect.status === 'finished' && effect.window === 'leave'
}

function keyOf(task: number, index: number): string {
  return `${task}:${index}`
}

async function begin(db: Database, steps: ReadonlyMap<string, Step>): Promise<Changed[]> {
  const some = [...steps.values()]
  const begun = await db.all<Changed>(sql.event.begin, ...columnsOf(some, ({ attempt }) => attempt * 2))
  for (const { task: key, idx } of begun) {
    const { task } = (steps.get(keyOf(key, idx)) as Step).ledger
    task.enqueued--
    task.working++
  }
  return begun
}

async function finish(db: Database, steps: ReadonlyMap<string, Step>): Promise<Changed[]> {
  const some = [...steps.values()]
  const finished = await db.all<Changed & { wasWorking: boolean; wasInWindow: boolean }>(
    sql.event.finish,
    ...columnsOf(some, ({ attempt }) => attempt * 2 + 1),
    some.map(({ effect }) => effect.startedAt ?? null),
    some.map(({ effect }) => effect.result ?? null),
    some.map(({ ledger }) => dropsArgs(ledger.task, 'finished')),
  )
  for (const { task: key, idx, wasWorking, wasInWindow } of finished) {
    const { task } = (steps.get(keyOf(key, idx)) as Step).ledger
    task.finished++
    if (wasWorking) task.working--
    else task.enqueued--
    if (wasInWindow) task.in_window--
  }
  return finished
}

/** Returns the values that both statements begin with. */
function columnsOf(steps: readonly Step[], stepOf: (effect: EventEffect) => number) {
  return [
    steps.map(({ ledger }) => ledger.task.key),
    steps.map(({ index }) => index),
    steps.map(({ effect }) => effect.run),
    steps.map(({ effect }) => stepOf(effect)),
    steps.map(({ effect }) => effect.at),
    steps.map(({ ledger }) => ledger.task.next),
  ] as const
}
