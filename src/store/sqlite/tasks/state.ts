/** What state a task is in, and what follows from it. */

import { completeCallback } from '../../../job/payload.ts'
import { type Callback, endedOf, type MaxFailures, type Message, type TaskState } from '../../contract.ts'
import { hasEnded, isStopped, parsed, type TaskRow, written } from './row.ts'

/** The code of the reason of a task of which more rows were rejected than are tolerated. */
const BEYOND = 'tolerance'
/** A share of fewer ended rows says nothing yet. */
const ENOUGH_FOR_PERCENT = 100

/** What one operation did to a task. */
export interface Happened {
  /** The runs of which a row became failed or error; a row may still be of an earlier run than its task. */
  rejectedRuns: readonly number[]
  /** Its last adder ended; those who put rows back are none. */
  addingEnded: boolean
}

/** More rows are rejected than are tolerated: it stops here. True when it became cancelling by that. */
export function judge(task: TaskRow, { rejectedRuns, addingEnded }: Happened, now: number): boolean {
  const rejected = rejectedRuns.length > 0
  if (!task.tolerance || (!rejected && !addingEnded) || task.paused || isStopped(task) || task.state === 'done') {
    return false
  }
  const bad = task.failed + task.error
  const ended = endedOf(task)
  const tolerance = parsed<MaxFailures>(task.tolerance) as MaxFailures
  const isShare = 'percent' in tolerance
  // When adding ends it is known of how many rows the few are that ended.
  const of = isShare && ended < ENOUGH_FOR_PERCENT ? task.total : ended
  const isBeyond = isShare
    ? (ended >= ENOUGH_FOR_PERCENT || addingEnded) && bad * 100 > tolerance.percent * of
    : rejected && bad > tolerance.rows
  if (!isBeyond) return false
  const reason: Message = { at: now, code: BEYOND, params: { rejected: bad, ended: of } }
  task.reason = written(reason)
  if (task.beyond === 'pause') task.paused = 1
  else task.state = 'cancelling'
  return task.beyond === 'cancel'
}

/** The state that follows from what there is. */
export function moveOn(task: TaskRow, now: number): void {
  const state = stateOf(task)
  if (state === task.state) return
  task.state = state
  const ended = hasEnded(task)
  // What a pause held is over, and so is the pause; that too many were rejected stays true.
  if (ended && task.paused) {
    task.paused = 0
    if (parsed<Message>(task.reason)?.code !== BEYOND) task.reason = null
  }
  task.finished_at = ended ? now : null
  task.expires_at = ended ? now + task.keep : null
  // Nothing waits any more: no row is looked at again.
  if (ended) task.next = task.total
}

function stateOf(task: TaskRow): TaskState {
  const open = task.enqueued + task.working
  if (task.state === 'cancelled') return 'cancelled'
  if (task.state === 'cancelling') return open > 0 ? 'cancelling' : 'cancelled'
  // Without a row to hold back a pause says nothing.
  if (task.paused && (open > 0 || task.adders > 0)) return 'paused'
  if (task.adders > 0) return 'adding'
  if (task.broken > 0) return 'interrupted'
  return open > 0 ? 'running' : 'done'
}

/** Returns the callbacks to push now, once for each run. A run gets none when a later run had a rejected row first. */
export function callbacks(task: TaskRow, { rejectedRuns }: Happened, now: number): { queue: string; text: string }[] {
  const pushed: { queue: string; text: string }[] = []
  const call = (text: string | null, kind: 'done' | 'failure', run: number) => {
    const callback = parsed<Callback>(text)
    if (!callback) return
    const { queue, template } = callback
    pushed.push({ queue, text: completeCallback({ template, kind, task: task.id, run, now }) })
  }
  for (const run of rejectedRuns.toSorted((a, b) => a - b)) {
    if (run <= task.failed_run) continue
    task.failed_run = run
    call(task.on_failure, 'failure', run)
  }
  if (hasEnded(task) && task.done_run < task.run) {
    task.done_run = task.run
    call(task.on_done, 'done', task.run)
  }
  return pushed
}
