/** Tracked tasks: many jobs under one id, with an event for each job. */

import type { EventEffect } from './effects.ts'
import type { Entry } from './job-sets.ts'
import type { PushItem, TrackedPush } from './push-items.ts'
import type {
  AttemptRef,
  Deferral,
  DeferredAnswer,
  DeferredEnd,
  EventQuery,
  EventRecord,
  EventStatus,
  Message,
  ReasonCount,
} from './task-events.ts'
import type { TaskSpec } from './task-spec.ts'

export const TASK_STATES = ['adding', 'running', 'paused', 'interrupted', 'cancelling', 'done', 'cancelled'] as const
export type TaskState = (typeof TASK_STATES)[number]

/** Returns when a scheduled single job is due, in whole milliseconds, not before its creation; null: it is not scheduled. */
export function dueOf({ createdAt }: TaskSpec, item: PushItem): number | null {
  if (item.to !== 'schedule') return null
  return Math.min(Math.max(Math.round(item.score * 1000), createdAt), Number.MAX_SAFE_INTEGER)
}

/**
 * One row to add. `args` is JSON array text, which is combined with the task's template, or a whole payload (beginning
 * with `{`) that the template can't express. With `rejected` the row gets a final event at once, and no job.
 */
export interface NewRow {
  args: string
  /** Number of the row in its source, kept with the event. */
  number?: number
  /** JSON text of the row in its source, kept as long as `args`; opaque to the store. */
  source?: string
  /** The job class, if it is not the task's; `args` is a whole payload then. */
  job?: string
  rejected?: { status: 'failed' | 'cancelled'; code?: string; messages: Message[] }
}

/**
 * `gap`: the producer's cursor is `cursor`, not `from`, and nothing was added. A repeated chunk is `ok` and adds nothing.
 * `taken-over`: another producer has replaced this one, or it is lost: it was claimed, or broke off.
 */
export type AddAnswer =
  | { ok: true; total: number }
  | { ok: false; reason: 'unknown' | 'ended' | 'taken-over' | 'gap'; cursor: number }

/** A producer whose rows may not all be stored. `broken`: it broke off or died, and no other one has replaced it. */
export interface TaskProducer {
  name: string
  broken: boolean
}

/** A rejected row that shall run again, in a new run. */
export interface RetryRow {
  index: number
  /**
   * New arguments, or a whole payload, in place of the old ones; required if those were dropped. The cursor of the row as a
   * producer is 0 again: its handler may add other rows.
   */
  args?: string
  source?: string
  /** The row's entry in the dead set, which is removed in the same step. */
  dead?: Entry
}

/** A change of a task. What is absent stays as it is. */
export interface TaskChange extends Partial<Pick<TaskSpec, 'name' | 'window' | 'maxFailures' | 'onMaxFailures'>> {
  /**
   * True: no more rows enter the queue; adding continues. False: the task continues. A pause ends by itself when all rows
   * and adding have ended; its reason is removed with it, unless its code is `too-many-failures`.
   */
  paused?: boolean
  /** Why the task is paused; null: no reason. */
  reason?: Message | null
}

/**
 * Settings that the record has under the same type. One that is optional and has no default is a member of `TaskRecord`
 * instead, with `| null`, as `rowsPerJob` is.
 */
type Kept = 'id' | 'name' | 'job' | 'queue' | 'window' | 'keepArgs' | 'lostAfter' | 'single' | 'meta' | 'createdAt'

/** A task with the settings that it has now. */
export interface TaskRecord extends Required<Pick<TaskSpec, Kept | 'maxFailures' | 'onMaxFailures'>> {
  state: TaskState
  run: number
  /** When the run began. The first run begins with the task. */
  runAt: number
  /** Rows that do not run in this run: those that had ended before it began, and those that were rejected when they were added. */
  endedBefore: number
  /** Whether some rows were added with a job class of their own. */
  mixed: boolean
  /** Rows added so far. */
  total: number
  /** Rows that are not yet queued. */
  backlog: number
  /** Jobs in the queue or with an owner. All other rows that have not ended are in the backlog, in a set, or parked. */
  inWindow: number
  /** Rows that are parked: `working`, without a job, until `endDeferred`. */
  deferred: number
  rowsPerJob: number | null
  /** Whether a producer is adding rows, or putting rows back for another run, whatever the state is. */
  adding: boolean
  /** Whether a producer broke off or died and no other one has resumed adding, whatever the state is. */
  broken: boolean
  /**
   * Why the task was paused, cancelled or interrupted, unless a person only asked for it. A task that is done with more
   * rejected rows than `maxFailures` has that as its reason.
   */
  reason: Message | null
  /** The producer that created the task, or the one that resumed its adding. */
  producer: string
  /** `last` of the newest `addRows` call; null if there was none. */
  lastRow: string | null
  counts: Record<EventStatus, number>
  /** How often its links were revoked. A link names this number, and opens the task only while it is the same. */
  linkVersion: number
  /** When any event last changed; null before the first change. */
  progressAt: number | null
  finishedAt: number | null
}

export interface TaskStore {
  /** Creates a task in state `adding`, without rows. False: the id is in use, and nothing changed. */
  create(task: TaskSpec): Promise<boolean>
  /**
   * Adds rows if the producer's cursor equals `from`; the cursor is the number of rows that this producer has added.
   * Rows, events, counts, cursor and the first jobs change in one step: a chunk is stored completely or not at all, and a
   * repeated chunk adds nothing, also after adding has ended. `producer` is one that has opened adding, or `row:INDEX:RUN` for
   * a row of the task itself in a run. A row may add rows until its task has ended, and need not open adding. It keeps its cursor
   * in later runs; `taken-over`: it is in a later run. `last` is a text about the last of the rows, which the task keeps as
   * `lastRow` in the same step.
   */
  addRows(task: string, producer: string, from: number, rows: NewRow[], now: number, last?: string): Promise<AddAnswer>
  /**
   * Opens adding for one more producer, an owner that has joined, on a task that has not ended; `total` is the number of
   * rows so far. With `instead` it replaces another producer, dead or alive, with that one's cursor. The replaced
   * producer's later calls answer `taken-over`. The task becomes `adding` again, also if it was `interrupted`.
   */
  openAdding(task: string, producer: string, now: number, instead?: string): Promise<AddAnswer>
  /**
   * Ends adding for a producer. When no producer is left, `adding` becomes `running`, or `done` if all events are final.
   * With `interrupted` its source broke off: the added rows run, and the task says so. Idempotent. A lost producer gets
   * `taken-over`, except with `interrupted`: its task stays interrupted.
   */
  endAdding(task: string, producer: string, now: number, interrupted?: boolean): Promise<AddAnswer>
  /** Returns the producers of a task that add rows or broke off, sorted by name. Those of a retry are left out. */
  producers(id: string): Promise<TaskProducer[]>
  /** Changes a task. null: there is no such task. `ended`: it is done or cancelled. */
  change(id: string, change: TaskChange, now: number): Promise<'ok' | 'ended' | null>
  /** Raises `linkVersion` of a task by one, whatever its state. False: there is no such task. */
  revokeLinks(id: string): Promise<boolean>
  /**
   * Sets a task to `cancelling`. Adding ends, and its producers get `ended`. No more rows enter the queue. A row whose
   * start is reported answers `superseded` and is cancelled. Call `cancelRows` afterwards until it is `done`.
   */
  cancel(id: string, reason: Message | null, now: number): Promise<'ok' | 'ended' | null>
  /**
   * Cancels about `limit` of the rows that are `enqueued`, wherever their jobs are, or parked, and continues where the
   * call before ended. `maybeRunning`: the jids of rows whose jobs are with an owner, or were in the queue a moment ago. `done`: no
   * row is enqueued. The task is `cancelled` as soon as no row is `working`.
   */
  cancelRows(
    id: string,
    limit: number,
    now: number,
  ): Promise<{ cancelled: number; maybeRunning: string[]; done: boolean }>
  /**
   * Begins run `run` + 1 of a task that is in run `run`, with adding open for `producer`, an owner that has joined. When
   * that producer dies adding ends, but the task does not become `interrupted`. A task that was `interrupted` before is so
   * again afterwards, because rows of its source are still missing. `gone`: another caller was faster. `cancelling`: the
   * task is being cancelled.
   *
   * With `rows` the same step retries at least one of them, as `retryRows` does. Call that with all of them next.
   * `empty`: none of them can run again, and nothing changed.
   */
  startRun(
    id: string,
    run: number,
    producer: string,
    now: number,
    rows?: readonly RetryRow[],
  ): Promise<'ok' | 'gone' | 'cancelling' | 'empty' | null>
  /**
   * Puts rejected rows of an earlier run at the back of the backlog, in run `run`, and removes their dead entries. Atomic
   * per row. `gone`: the row is not rejected any more. `dropped`: the row has no arguments any more. Neither changes. A
   * repeated call adds nothing.
   */
  retryRows(id: string, run: number, rows: RetryRow[], now: number): Promise<('ok' | 'gone' | 'dropped')[]>
  /**
   * Deletes about `limit` rows of a task. From the first call on the task is not found any more, its backlog never runs,
   * and its jobs in the queue run untracked. True: everything is deleted.
   */
  delete(id: string, limit: number): Promise<boolean>
  /**
   * Returns the ids of at most `limit` ended tasks whose retention time is over. When the caller's clock is ahead of the
   * store's, the store's clock counts, here and in `overdue`.
   */
  expired(now: number, limit: number): Promise<string[]>
  /** Returns the ids of the tasks that are `cancelling`, a page at a time. */
  cancelling(page: { after?: string | undefined; limit: number }): Promise<{ items: string[]; next: string | null }>
  /**
   * Returns tasks with open rows and no progress since `before`, except those that are `cancelling`, a page at a time. A
   * scheduled single job counts as idle only after it is due. Each page checks at most `limit` tasks, so it may hold
   * fewer tasks, or none, and still have a `next`.
   */
  idle(
    before: number,
    page: { after?: string | undefined; limit: number },
  ): Promise<{ items: TaskRecord[]; next: string | null }>
  /**
   * Returns tasks with open rows whose progress is after `time`, except those that are `cancelling`, a page at a time as `idle`
   * does. A task without progress counts by its creation; a scheduled single job without progress is left out.
   */
  ahead(
    time: number,
    page: { after?: string | undefined; limit: number },
  ): Promise<{ items: TaskRecord[]; next: string | null }>
  /**
   * Records that an attempt is deferred, while its handler runs; the row becomes `working`. From then on `endDeferred` ends
   * the row, whatever happens to the attempt, until the row has ended or runs in another run. A later attempt of the same
   * run replaces the deadline. `superseded`: the row has ended, or its task is being cancelled.
   */
  defer(row: Deferral, now: number): Promise<'ok' | 'superseded' | 'unknown'>
  /**
   * Ends a row of which an attempt was deferred in this run. The row leaves the window, and what its job does later in this
   * run changes nothing. Of several calls at the same time one ends the row.
   */
  endDeferred(end: DeferredEnd, now: number): Promise<DeferredAnswer>
  /**
   * Returns the jids of at most `limit` rows whose deadline is over, the oldest first; some may have ended. Call
   * `endDeferred` with `isOverdue` for each, after which a row is not returned again.
   */
  overdue(now: number, limit: number): Promise<string[]>
  /** Changes events without moving a job: of rows that are lost, and of jobs that another program has ended. */
  changeEvents(effects: EventEffect[], now: number): Promise<void>
  /** Takes rows out of the window whose jobs are not in the queue any more. Their events do not change. */
  leaveWindow(id: string, indexes: readonly number[], now: number): Promise<void>
  /** Counts the rows by code, for failed, error and cancelled. */
  reasons(id: string): Promise<ReasonCount[]>
  /**
   * Creates tasks of one row (`single`, with adding ended) and pushes that row's job, `item`, each in one step. Resolves
   * and rejects as `push` does.
   */
  pushTracked(items: TrackedPush[], now: number): Promise<void>
  /**
   * Stores a part of a task's output, as long as the task exists. A part with the same index is replaced. `full`: all
   * parts together would exceed `maxBytes`, and nothing was stored. With `by` the part is stored only for the attempt that
   * the row with this index is in (`isInAttempt`); for any other attempt the answer is `stale`.
   */
  putPart(
    task: string,
    index: number,
    bytes: Uint8Array,
    maxBytes: number,
    by?: AttemptRef,
  ): Promise<'ok' | 'full' | 'unknown' | 'stale'>
  part(task: string, index: number): Promise<Uint8Array | null>
  find(id: string): Promise<TaskRecord | null>
  /** Returns tasks, newest first; with `label` only those with this label. Fewer than `limit`: there are no more. */
  page(page: {
    before?: { createdAt: number; id: string }
    limit: number
    label?: { name: string; value: string }
  }): Promise<TaskRecord[]>
  events(task: string, query: EventQuery): Promise<EventRecord[]>
  event(jid: string): Promise<EventRecord | null>
  /** Adds a message to an event, whatever its status. An event keeps at most 50 messages. */
  addMessage(jid: string, message: Message): Promise<void>
}
