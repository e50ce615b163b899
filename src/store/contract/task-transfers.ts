/**
 * Transfers of tasks. A task goes to another store as a whole, with its rows, events, results and files.
 *
 * In the source a task is first frozen: no more rows enter its queue, and everything else works. Then it is sealed: it is not
 * found any more, and nothing changes it. A sealed task has a name, a text of the caller as that of a page (transfers.ts), and is
 * read in parts. The target stores the parts in order. There the task is not found before its last part is stored, which is the
 * step that makes it run. Each step may be repeated, also by several processes, and also late.
 *
 * The jobs of a frozen task wait in its sets `moving:…` (`MovingSet`), which no worker reads.
 */

import type { EventStatus, Message } from './task-events.ts'
import type { TaskSpec } from './task-spec.ts'
import type { PageOutcome } from './transfers.ts'

/** The most rows, or rows of the backlog, that one part of a task has. */
export const TASK_PART_ROWS = 100
/** About the most characters of the texts in one part. A file is one part, however large. */
export const TASK_PART_LENGTH = 1_000_000

/** A task that goes to another store. */
export interface MovingTask {
  id: string
  /** Its name, and what the caller of `seal` said about the target; null: the task is frozen and not sealed. */
  sealed: { transfer: string; target: string } | null
}

/**
 * `gone`: there is no such task, or it is sealed. `adding`: a producer adds rows. `cancelling`: the task is being cancelled.
 * Neither of them changes.
 */
export type FreezeAnswer = 'ok' | 'gone' | 'adding' | 'cancelling'

/** The state of a task beside its settings. */
export interface TaskProgress {
  /** `open`: it has not ended. */
  state: 'open' | 'done' | 'cancelled'
  paused: boolean
  reason: Message | null
  run: number
  /** null: the run began with the task. */
  runAt: number | null
  endedBefore: number
  /** The last runs for which the callbacks were pushed. */
  doneRun: number
  failedRun: number
  mixed: boolean
  total: number
  /** The first index that was never queued. */
  next: number
  backlog: number
  deferred: number
  counts: Record<EventStatus, number>
  lastRow: string | null
  linkVersion: number
  progressAt: number | null
  finishedAt: number | null
  /** When its scheduled single job is due. */
  dueAt: number | null
  producers: { name: string; cursor: number; state: 'ended' | 'broken' | 'replaced' }[]
}

/** A row of a sealed task. Texts are as in `EventRecord`. */
export interface MovedRow {
  index: number
  status: EventStatus
  /** `new`: it was never queued. `backlog`: it has a place of its own in the backlog. */
  location: 'new' | 'backlog' | 'elsewhere'
  run: number
  /** Twice the attempt, plus one when it has ended. */
  step: number
  number: number | null
  job: string | null
  code: string | null
  startedAt: number | null
  finishedAt: number | null
  args: string | null
  source: string | null
  result: string | null
  /** A gap in the numbers shows where messages were dropped. */
  messages: { n: number; message: Message }[]
  /** Its newest deferred attempt. `ends`: the deadline; null: it need not be checked any more. */
  deferral: { run: number; attempt: number; state: 'begun' | 'parked' | 'ended'; ends: number | null } | null
  /** The number of rows that it has added. */
  added: number | null
}

/** A row with a place of its own in the backlog. `text`: its job, which came back; null: it was put back for another run. */
export interface MovedBacklogRow {
  index: number
  run: number
  text: string | null
}

/** A part of a sealed task. Only the first one has `task`. */
export interface TaskPart {
  task: { spec: TaskSpec; progress: TaskProgress } | null
  rows: MovedRow[]
  backlog: MovedBacklogRow[]
  files: { index: number; bytes: Uint8Array }[]
  /** The cursor of the next part; null: this is the last one. */
  next: string | null
}

export interface TaskTransferStore {
  /** Returns ids of all tasks, also of single ones, a page at a time. Sealed tasks may be among them. */
  taskIds(page: { after?: string | undefined; limit: number }): Promise<{ ids: string[]; next: string | null }>
  /** Freezes a task: no more rows enter its queue. */
  freeze(id: string, now: number): Promise<FreezeAnswer>
  /**
   * Ends the freezing of a task that is not sealed. False: it is not frozen, or a set of it has jobs. A task that was deleted is
   * forgotten.
   */
  unfreeze(id: string, now: number): Promise<boolean>
  /** Returns all frozen and sealed tasks. A frozen task may have been deleted meanwhile. */
  movingTasks(): Promise<MovingTask[]>
  /**
   * Seals a frozen task that has these counts, no row in the window and no producer that adds rows. It refuses while a page is
   * held, because the page may contain jobs of the task. `transfer` is another random text in each call. False: nothing changed.
   */
  seal(id: string, transfer: string, target: string, counts: Record<EventStatus, number>): Promise<boolean>
  /** Makes a sealed task a frozen one again. False: no task is sealed under this name. */
  unseal(id: string, transfer: string): Promise<boolean>
  /** Returns the part of a sealed task with this cursor; '' is the first one. null: no task is sealed under this name. */
  readTask(id: string, transfer: string, cursor: string): Promise<TaskPart | null>
  /**
   * Drops a sealed task, and deletes its rows unless the task came back meanwhile. False: no task is sealed under this name, or
   * jobs of it may be here: a set of it has some, or a page is held.
   */
  dropTask(id: string, transfer: string): Promise<boolean>
  /**
   * Stores the part with this cursor, if it is the next one, and with the last one the task. Returns the cursor of the next part, or
   * what became of the task. A first part of another name replaces a task that is not complete.
   * @throws STORE_UNUSABLE if the store has a task with this id
   */
  putTask(
    id: string,
    transfer: string,
    cursor: string,
    part: TaskPart,
    now: number,
  ): Promise<PageOutcome | { cursor: string }>
  /** Drops the parts that are stored under a name. `void`: the store never stores this task; `stored`: it has it. */
  voidTask(id: string, transfer: string, now: number): Promise<PageOutcome>
}
