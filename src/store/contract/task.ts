/** Tracked tasks: many jobs as one thing, an event for each. */

export type EventStatus = 'enqueued' | 'working' | 'finished' | 'failed' | 'error' | 'cancelled'
export const EVENT_STATUSES: readonly EventStatus[] = [
  'enqueued',
  'working',
  'finished',
  'failed',
  'error',
  'cancelled',
]

/** A stored message: a code and its parameters, so that each reader can see it in their own language. */
export interface Message {
  at: number
  code: string
  params: Record<string, unknown>
}

export type TaskState = 'adding' | 'running' | 'paused' | 'interrupted' | 'cancelling' | 'done' | 'cancelled'

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
  /** Most rows in the queue and with owners at one time. */
  window: number
  /** `rejected`: arguments are dropped when their row finished; `none`: whenever it ended. */
  keepParams: 'rejected' | 'all' | 'none'
  /** JSON text, opaque to the store. */
  meta: string
  createdAt: number
  /**
   * Token of the submitter who adds the rows: the name of an owner who has joined, so that its death is seen. When its
   * lease is claimed while it adds, the task becomes `interrupted`.
   */
  adder: string
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
  rejected?: { status: 'failed' | 'cancelled'; code?: string; messages: Message[] }
}

/** `gap`: the cursor is elsewhere (told), nothing was added. A repeat of a chunk that was added is `ok` and adds nothing. */
export type AddAnswer =
  | { ok: true; total: number }
  | { ok: false; reason: 'unknown' | 'ended' | 'taken-over' | 'gap'; cursor: number }

export interface TaskRecord {
  id: string
  name: string
  job: string
  queue: string
  state: TaskState
  run: number
  /** Rows added so far. */
  total: number
  /** Rows that wait for a place in the window. */
  held: number
  /** Rows in the queue or with an owner. The rest of those that have not ended waits in a set. */
  placed: number
  window: number
  counts: Record<EventStatus, number>
  meta: string
  createdAt: number
  /** Of the last change of any event; null before the first. */
  progressAt: number | null
  finishedAt: number | null
}

export interface EventRecord {
  index: number
  jid: string
  number: number | null
  status: EventStatus
  run: number
  /** Attempts begun. */
  attempts: number
  /** JSON text; null once dropped. */
  args: string | null
  /** As it was added; null when there was none, or once dropped. */
  source: string | null
  code: string | null
  startedAt: number | null
  finishedAt: number | null
  result: string | null
  messages: Message[]
}

export interface EventQuery {
  status?: EventStatus[]
  /** Only events with a greater index. */
  after?: number
  limit: number
}

export interface TaskVerbs {
  /** Makes a task, in state `adding`, without rows. False: the id is taken, nothing changed. */
  createTask(task: TaskSpec): Promise<boolean>
  /**
   * Adds rows if the adder's cursor equals `from`; the cursor is the number of rows that this adder has added. Rows,
   * events, counts, cursor and the first jobs come in one step: a chunk is there wholly or not at all, and a repeated
   * one doubles nothing.
   */
  addRows(task: string, adder: string, from: number, rows: NewRow[], now: number): Promise<AddAnswer>
  /**
   * The adder is done: `adding` becomes `running`, or `done` when every event is final. `interrupted`: its source broke
   * off; what was added runs, and the task says so.
   */
  endAdding(task: string, adder: string, now: number, interrupted?: boolean): Promise<AddAnswer>
  task(id: string): Promise<TaskRecord | null>
  tasks(page: { before?: { createdAt: number; id: string }; limit: number }): Promise<TaskRecord[]>
  events(task: string, query: EventQuery): Promise<EventRecord[]>
  event(jid: string): Promise<EventRecord | null>
  /** Adds a message to an event, whatever its state; at most 50 are kept. */
  message(jid: string, message: Message): Promise<void>
}
