/** Tracked tasks: many jobs as one thing, an event for each. */

import type { EventEffect } from './effects.ts'
import type { Entry } from './job-sets.ts'
import type { PushItem } from './jobs.ts'
import type { EventQuery, EventRecord, EventStatus, Message, OfAttempt, ReasonCount } from './task-events.ts'

export const TASK_STATES = ['adding', 'running', 'paused', 'interrupted', 'cancelling', 'done', 'cancelled'] as const
export type TaskState = (typeof TASK_STATES)[number]

export interface TaskSpec {
  /** 16 hex digits. */
  id: string
  name: string
  job: string
  queue: string
  /**
   * JSON object text of a row's payload without `args`, `jid`, `hk_run`, `enqueued_at`: the store appends those. One that
   * ends with `,"enqueued_at":0.0}` wants that time in seconds; see completeRow.
   */
  template: string
  /** Most rows in the queue and with owners at one time. Several rows that are one job count as one. */
  window: number
  /**
   * So many rows that follow each other are one job, which gets them as one list: rows of the same run that were never in
   * the queue, are no whole payloads, and are together not too large. The others are jobs of one row each, in a list all
   * the same. Their bare arguments are one value each. Of those rows the first has the place in the window.
   */
  rowsPerJob?: number
  /** `rejected`: arguments are dropped when their row finished; `none`: whenever it ended. */
  keepArgs: 'rejected' | 'all' | 'none'
  /** JSON text, opaque to the store. */
  meta: string
  createdAt: number
  /**
   * Token of the submitter who adds the rows: the name of an owner who has joined, so that its death is seen. When its
   * lease is claimed while it adds, the task becomes `interrupted`.
   */
  producer: string
  /** Beyond it the task pauses, or is cancelled. */
  maxFailures?: MaxFailures | null
  onMaxFailures?: 'pause' | 'cancel'
  /** Pushed once for each run, in the step that makes the last event final after adding has ended. */
  onDone?: Callback | null
  /** Pushed once for each run, in the step of its first `failed` or `error` event. */
  onFailure?: Callback | null
  /** Milliseconds that it is kept after it was done or cancelled; absent: 30 days. */
  keep?: number
  /** Milliseconds without progress after which its open rows are looked for; absent: an hour. */
  lostAfter?: number
  /** One tracked job by itself: not shown among the tasks. */
  single?: boolean
}

/** The time at which a scheduled single job is due (ms): an exact integer, not before its creation. */
export function dueOf({ createdAt }: TaskSpec, item: PushItem): number | null {
  if (item.to !== 'schedule') return null
  return Math.min(Math.max(Math.round(item.score * 1000), createdAt), Number.MAX_SAFE_INTEGER)
}

/**
 * More rows than these may not be `failed` or `error`. `percent` is judged of the ended rows from 100 of them on; of fewer
 * once, when adding ends, and then of all that there are.
 */
export type MaxFailures = { rows: number } | { percent: number }

/**
 * A job to push when something happens to a task: JSON object text of its payload without `args`, `jid` and
 * `enqueued_at`, which the store appends as in a row's template: args are `[task, run]`, the jid is the task's id, `ff`
 * (done) or `fe` (failure), and the run in 6 hex digits.
 */
export interface Callback {
  queue: string
  template: string
}

/**
 * One row to add. `args`: JSON array text, combined with the task's template, or (beginning with `{`) a whole payload
 * that the template can't express. `rejected`: the row gets a final event at once and no job is made of it.
 */
export interface NewRow {
  args: string
  /** Number of the row in its source, kept with the event. */
  number?: number
  /** JSON text of the row as it came, kept as long as `args` is; opaque to the store. */
  source?: string
  /** Its class, when that is not the task's: `args` is a whole payload then. */
  job?: string
  rejected?: { status: 'failed' | 'cancelled'; code?: string; messages: Message[] }
}

/** `gap`: the cursor is elsewhere (told), nothing was added. A repeat of a chunk that was added is `ok` and adds nothing. */
export type AddAnswer =
  | { ok: true; total: number }
  | { ok: false; reason: 'unknown' | 'ended' | 'taken-over' | 'gap'; cursor: number }

/** A rejected row that is to run again, in a new run. */
export interface RetryRow {
  index: number
  /** JSON array text (or a whole payload) in the place of what it had; needed when that was dropped. */
  args?: string
  source?: string
  /** Its entry of the dead set as it was read: it goes in the same step. */
  dead?: Entry
}

/** What a task can be told. Absent: stays as it is. */
export interface TaskChange {
  /**
   * True: no row comes into the queue any more; adding goes on. False: it goes on, as far as nothing else holds it. A
   * pause ends by itself when there is nothing left to hold back: all rows have ended, and adding. Its reason goes with
   * it, but for the code `tolerance`.
   */
  paused?: boolean
  /** Why, for people; null: no reason. */
  reason?: Message | null
  window?: number
  maxFailures?: MaxFailures | null
  onMaxFailures?: 'pause' | 'cancel'
  name?: string
}

export interface TaskRecord {
  id: string
  name: string
  job: string
  queue: string
  state: TaskState
  run: number
  /** When the run began; the first one does with the task. */
  runAt: number
  /** Rows that had ended before the run began, and were not put back in it. */
  endedBefore: number
  /** Some of its rows were added with a class of their own. */
  mixed: boolean
  /** Rows added so far. */
  total: number
  /** Rows that wait for a place in the window. */
  backlog: number
  /** Jobs in the queue or with an owner. The rest of the rows that have not ended waits in a set. */
  inWindow: number
  window: number
  rowsPerJob: number | null
  /** Rows are being added (or put back for another run) right now, whatever the state shows. */
  adding: boolean
  /** Who added rows broke off or was lost, and nobody has gone on yet, whatever the state shows. */
  broken: boolean
  keepArgs: 'rejected' | 'all' | 'none'
  maxFailures: MaxFailures | null
  onMaxFailures: 'pause' | 'cancel'
  /**
   * Why it is paused, cancelled or interrupted, where that was not a person's wish alone; of one that is done with more
   * rejected rows than are tolerated, that.
   */
  reason: Message | null
  lostAfter: number
  single: boolean
  /** Token of the creator, or of who took its place. */
  producer: string
  /** The `last` of the newest `addRows` call; null when there was none. */
  lastRow: string | null
  counts: Record<EventStatus, number>
  meta: string
  createdAt: number
  /** Of the last change of any event; null before the first. */
  progressAt: number | null
  finishedAt: number | null
}

export interface TaskStore {
  /** Makes a task, in state `adding`, without rows. False: the id is taken, nothing changed. */
  create(task: TaskSpec): Promise<boolean>
  /**
   * Adds rows if the adder's cursor equals `from`; the cursor is the number of rows that this adder has added. Rows,
   * events, counts, cursor and the first jobs come in one step: a chunk is there wholly or not at all, and a repeated
   * one doubles nothing, also after adding has ended. `adder` is who opened adding, or `row:INDEX` for a row of the task
   * itself, which may add while it has not ended and needs not open anything. `last` is a text about the last of the rows:
   * the task keeps it as `lastRow`, in the same step.
   */
  addRows(task: string, adder: string, from: number, rows: NewRow[], now: number, last?: string): Promise<AddAnswer>
  /**
   * One more adder (an owner who has joined, as at creation) of a task that has not ended; `total` counts what is there.
   * With `instead` it takes the place of another adder, dead or alive, with its cursor, and that one is `taken-over`
   * from then on; the task is `adding` again also when it was `interrupted`.
   */
  openAdding(task: string, adder: string, now: number, instead?: string): Promise<AddAnswer>
  /**
   * The adder is done: when none is left `adding` becomes `running`, or `done` when every event is final. `interrupted`:
   * its source broke off; what was added runs, and the task says so. Said twice is said once.
   */
  endAdding(task: string, adder: string, now: number, interrupted?: boolean): Promise<AddAnswer>
  /** Changes what is told and nothing else. null: there is no such task; `ended`: it is done or cancelled. */
  change(id: string, change: TaskChange, now: number): Promise<'ok' | 'ended' | null>
  /**
   * The task becomes `cancelling`: adding ends (its adders get `ended`), nothing comes into the queue any more, and a row
   * whose start is told answers `superseded` and is cancelled. Then `cancelRows` until it is `done`.
   */
  cancel(id: string, reason: Message | null, now: number): Promise<'ok' | 'ended' | null>
  /**
   * Cancels about `most` of the rows that are `enqueued`, wherever their jobs are, from where the call before left off.
   * `placed`: the jids of rows met on the way whose jobs are with an owner, or may be: in the queue when they were looked
   * at. `done`: none is enqueued; the task is `cancelled` as soon as none works.
   */
  cancelRows(id: string, most: number, now: number): Promise<{ cancelled: number; placed: string[]; done: boolean }>
  /**
   * Begins run `run` + 1 of a task that is in run `run`, with `adder` open (an owner who has joined; when it dies adding
   * ends, and the task is not `interrupted` by it; one that was before is so again afterwards, for its unread rows are
   * still missing). `gone`: another was faster; `cancelling`: not now.
   */
  startRun(id: string, run: number, adder: string, now: number): Promise<'ok' | 'gone' | 'cancelling' | null>
  /**
   * Puts rejected rows of an earlier run back to work in run `run`, at the back of the backlog, and takes their dead
   * entries away. Atomic for each row; one that is not rejected any more, or has no arguments left (`dropped`), stays as
   * it is. A repeated call doubles nothing.
   */
  retryRows(id: string, run: number, rows: RetryRow[], now: number): Promise<('ok' | 'gone' | 'dropped')[]>
  /**
   * Removes about `most` rows of a task that is not shown and has no say from the first call on. True: all is gone.
   * Its held rows never run; its jobs in the queue run untracked.
   */
  delete(id: string, most: number): Promise<boolean>
  /** Tasks whose time to be kept is over, at most `limit`. */
  expired(now: number, limit: number): Promise<string[]>
  /** Lists the ids of at most `limit` tasks that are `cancelling`. */
  cancelling(limit: number): Promise<string[]>
  /**
   * Lists tasks with open rows and no progress since `before`, except those that are `cancelling`, a page at a time. A
   * scheduled single job counts as idle only after it is due. Each page checks at most `limit` tasks, so it may hold
   * fewer tasks, or none, and still have a `next`.
   */
  idle(
    before: number,
    page: { after?: string | undefined; limit: number },
  ): Promise<{ tasks: TaskRecord[]; next: string | null }>
  /** Changes of events whose jobs are nowhere to be moved: what is judged lost, or is told from outside. */
  changeEvents(effects: EventEffect[], now: number): Promise<void>
  /** Rows that were in the queue and are seen there no longer give their places to the next, and stay what they are. */
  leaveWindow(id: string, indexes: readonly number[], now: number): Promise<void>
  /** How many rows there are of each code, of failed, error and cancelled. */
  reasons(id: string): Promise<ReasonCount[]>
  /**
   * Makes tasks of one row (`single`, already without an adder) and pushes that row's job, `item`, in one step each;
   * resolved and rejected as `push` is.
   */
  pushTracked(items: { task: TaskSpec; item: PushItem }[], now: number): Promise<void>
  /**
   * Keeps a piece of what a task makes, for as long as the task; the same index again takes the place of what was there.
   * `full`: all of them together would have more than `most` bytes, and it was not kept. With `by` it is kept only of the
   * attempt that the row with this index is in (`isInAttempt`); of every other one it is `stale`.
   */
  putPart(
    task: string,
    index: number,
    bytes: Uint8Array,
    most: number,
    by?: OfAttempt,
  ): Promise<'ok' | 'full' | 'unknown' | 'stale'>
  part(task: string, index: number): Promise<Uint8Array | null>
  find(id: string): Promise<TaskRecord | null>
  page(page: { before?: { createdAt: number; id: string }; limit: number }): Promise<TaskRecord[]>
  events(task: string, query: EventQuery): Promise<EventRecord[]>
  event(jid: string): Promise<EventRecord | null>
  /** Adds a message to an event, whatever its state; at most 50 are kept. */
  addMessage(jid: string, message: Message): Promise<void>
}
