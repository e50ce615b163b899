/** Finds tasks that need a person: those that make no progress, and those that were paused with a reason. */

import type { Store, TaskRecord } from '../store/contract.ts'
import { statusOf, type TaskStatus } from './task.ts'

/** The number of newest tasks that are checked. Older tasks are checked only when they make no progress. */
const TASKS = 200
/** The number of open tasks that are checked for progress. */
const IDLE_TASKS = 1000
const STILL_MINUTES = 5
const MINUTE = 60_000

export interface CheckedTask extends Pick<TaskRecord, 'id' | 'name' | 'queue' | 'state'> {
  /** Minutes since its last progress. */
  minutes: number
  /** Why it is paused. */
  reason: string | null
  cause: TaskStatus['cause'] | null
}

export interface TroubledTasks {
  /** The number of checked tasks that are not paused and have not ended. */
  running: number
  /** Tasks that run, have rows to run, and made no progress for STILL_MINUTES. */
  still: CheckedTask[]
  /** Tasks that were paused with a reason, such as too many failures. */
  paused: CheckedTask[]
}

export async function troubledTasks(store: Store, now: number): Promise<TroubledTasks> {
  const [newest, { items: idle }] = await Promise.all([
    store.tasks.page({ limit: TASKS }),
    store.tasks.idle(now - STILL_MINUTES * MINUTE, { limit: IDLE_TASKS }),
  ])
  const older = idle.filter(({ id, single }) => !single && newest.every((one) => one.id !== id))
  const tasks = [...newest, ...older].map((record) => {
    const { id, name, queue, state, inWindow, backlog, progressAt, runAt } = record
    const minutes = (now - Math.max(progressAt ?? 0, runAt)) / MINUTE
    // Rows that wait for a retry are no trouble.
    const canRun = inWindow + backlog > 0
    const { reason = null, cause = null } = statusOf(record, now)
    return { id, name, queue, state, minutes, canRun, reason, cause }
  })
  return {
    running: tasks.filter(({ state }) => state === 'adding' || state === 'running').length,
    still: tasks.filter(({ state, canRun, minutes }) => state === 'running' && canRun && minutes >= STILL_MINUTES),
    paused: tasks.filter(({ state, reason }) => state === 'paused' && reason !== null),
  }
}
