/** The state of a task that follows from its counts, and its callbacks, for SQLite and PostgreSQL. */

import { completeCallback } from '../../job/payload.ts'
import { type Callback, endedOf, type MaxFailures, type Message, type TaskState } from '../contract.ts'
import { hasEnded, isStopped, parsed, type TaskColumns, written } from './task-row.ts'

/** The code of the reason of a task with more failures than `maxFailures`. */
const TOO_MANY_FAILURES = 'too-many-failures'
/** A share is checked only from this number of ended rows on. */
const ENOUGH_FOR_PERCENT = 100

/** A task that an operation has changed. */
interface ChangedTask {
  task: TaskColumns
  /** The runs in which a row became `failed` or `error`. A row may be in an earlier run than its task. */
  rejectedRuns: readonly number[]
  /** Whether the last producer ended. A run that puts rows back is not counted. */
  addingEnded: boolean
}

/** Pauses or stops a task with more failures than `maxFailures`. Returns whether it became `cancelling`. */
export function checkFailures({ task, rejectedRuns, addingEnded }: ChangedTask, now: number): boolean {
  const rejected = rejectedRuns.length > 0
  if (!task.max_failures || (!rejected && !addingEnded) || task.paused || isStopped(task) || task.state === 'done') {
    return false
  }
  const bad = task.failed + task.error
  const ended = endedOf(task)
  const limit = parsed<MaxFailures>(task.max_failures) as MaxFailures
  const isShare = 'percent' in limit
  // When adding ends, the number of all rows is known.
  const of = isShare && ended < ENOUGH_FOR_PERCENT ? task.total : ended
  const hasTooMany = isShare
    ? (ended >= ENOUGH_FOR_PERCENT || addingEnded) && bad * 100 > limit.percent * of
    : rejected && bad > limit.rows
  if (!hasTooMany) return false
  const reason: Message = { at: now, code: TOO_MANY_FAILURES, params: { rejected: bad, ended: of } }
  task.reason = written(reason)
  if (task.on_max_failures === 'pause') task.paused = 1
  else task.state = 'cancelling'
  return task.on_max_failures === 'cancel'
}

/** Updates the state from the counts. */
export function updateState(task: TaskColumns, now: number): void {
  const state = stateOf(task)
  if (state === task.state) return
  task.state = state
  const ended = hasEnded(task)
  // An ended task is not paused. The reason stays if there were too many failures.
  if (ended && task.paused) {
    task.paused = 0
    if (parsed<Message>(task.reason)?.code !== TOO_MANY_FAILURES) task.reason = null
  }
  task.finished_at = ended ? now : null
  task.expires_at = ended ? now + task.keep : null
  // The backlog is empty, so no row need be read again.
  if (ended) task.next = task.total
}

function stateOf(task: TaskColumns): TaskState {
  const open = task.enqueued + task.working
  if (task.state === 'cancelled') return 'cancelled'
  if (task.state === 'cancelling') return open > 0 ? 'cancelling' : 'cancelled'
  // A pause has no meaning for a task without open rows.
  if (task.paused && (open > 0 || task.producers > 0)) return 'paused'
  if (task.producers > 0) return 'adding'
  if (task.broken > 0) return 'interrupted'
  return open > 0 ? 'running' : 'done'
}

/** Returns the callbacks to push now, once for each run. A run gets none when a later run had a rejected row first. */
export function callbacks({ task, rejectedRuns }: ChangedTask, now: number): { queue: string; text: string }[] {
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
