/**
 * What a store must be able to do: the semantic operations that everything else is built on.
 *
 * The contract is internal: it changes whenever that helps. One suite (`test/conformance`) runs on every store.
 *
 * The promise behind all of it: **a job is in a queue, with an owner, in a set, or settled; at no instant nowhere.**
 * Each operation's comment says what holds after a crash at any point. "Atomic per job" means: all that one item of the
 * call asks for is done, or nothing of it; other items of the same call stand for themselves.
 *
 * Words. *Text*: a job's payload as JSON text (well-formed Unicode); the store moves texts and never edits them. *Owner*: one epoch of one
 * worker. *Ticket*: the store's own, opaque name of one attempt, never used twice. *Score*: seconds since the epoch.
 * *Now*: milliseconds of the caller's clock; leases alone use the store's own clock.
 */

/**
 * The sets of jobs that are not in a queue, sorted by (score, text). Each text stands there once: a job that moves to
 * where its twin stands, byte for byte the same, gets a space behind it.
 */
export type SetName = 'retry' | 'schedule' | 'dead'

/** Where a text goes. */
export type Destination =
  | { to: 'queue'; queue: string; text: string; end: 'front' | 'back' }
  | { to: SetName; text: string; score: number }

/**
 * `once`: a push that failed may be repeated, byte for byte, within five minutes: if it was stored at first, it is not
 * stored again. It comes without effects.
 */
export type PushItem = Destination & { effects?: Effect[]; once?: boolean }

/** A job taken from a queue: it belongs to the owner who took it until it is settled or restored. */
export interface Taken {
  queue: string
  ticket: string
  /** Exactly as it was pushed. */
  text: string
}

/** Tells that an attempt has begun. */
export interface Started {
  queue: string
  ticket: string
  effects: Effect[]
}

/** How an attempt ended: where the job goes (null: it is done), what is counted, what changes with it. */
export interface Settlement {
  queue: string
  ticket: string
  move: Destination | null
  processed: 0 | 1
  failed: 0 | 1
  effects?: Effect[]
}

/**
 * `ok` – applied. `fenced` – the ticket is not this owner's any more (settled before, or the lease was lost): nothing
 * changed. `error` – could not be applied now and nothing changed: ask again.
 */
export type SettleAnswer = 'ok' | 'fenced' | 'error'

/** `superseded` – the event has moved on without this attempt: settle it without running the handler. */
export type StartAnswer = 'ok' | 'superseded'

export interface Turn {
  now: number
  started: Started[]
  settlements: Settlement[]
  /** At most `n` jobs, in the order of `queues`; n = 0 takes nothing. */
  take: { queues: readonly string[]; n: number }
}

export interface TurnAnswer {
  /** The owner is unknown or claimed: nothing was applied, every settlement answers `fenced`. */
  fenced: boolean
  started: StartAnswer[]
  settled: SettleAnswer[]
  taken: Taken[]
  /**
   * The version of the marks when the jobs were taken; 0: nothing was ever marked. When it is another one than before,
   * whoever takes reads the marks before it begins a job.
   */
  marks: number
  /** What kept a part of the turn from being done, in words for people. */
  problem?: string
}

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

/**
 * A change of a tracked job's event, in the step that moves the job.
 *
 * It applies when its (run, attempt, begun before ended) is not older than the event's own, also on a final event, which
 * it re-opens; otherwise, or when the task is gone, it has no effect. Applying it twice is applying it once.
 */
export interface EventEffect {
  kind: 'event'
  /** Names the event: 16 hex digits of the task + 8 of the index. */
  jid: string
  run: number
  /** The attempt (1 = first) that begins (`working`) or has ended (any other status). */
  attempt: number
  status: EventStatus
  at: number
  /** When the attempt began, told with its end if that was sooner than the next call. */
  startedAt?: number
  /**
   * The job's place in its task's window: `keep` – it stays in the queue or with an owner; `leave` – it goes away (to a
   * set, or it ended), and the next waiting row comes in; `enter` – it comes back: into the queue while the window has
   * room, else to the front of the task's backlog.
   */
  place: 'keep' | 'leave' | 'enter'
  /** The reason's group, of failed, error and cancelled. */
  code?: string
  messages?: Message[]
  /** JSON text, at most 16 kB. */
  result?: string
}

/** How far a job has come that goes through many items. */
export interface IterationState {
  /** Attempts begun, this one included. */
  executions: number
  /** Seconds, of all attempts together. */
  runtime: number
  /** JSON text: where to begin next. */
  cursor: string
}

/** A change of what is known of an iteration, in the step that moves its job; null: it is not needed any more. */
export interface IterationEffect {
  kind: 'iteration'
  jid: string
  state: IterationState | null
}

/** A marked job has come to its end, or will not run: its mark goes, if there is one. Without one it has no effect. */
export interface UnmarkEffect {
  kind: 'unmark'
  jid: string
  at: number
  /** It did not run to its end because of the mark: known for a minute, for those who look for it at that time. */
  dropped: boolean
}

/** A lock is free again, if `holder` (a jid) still has it. Applying it twice is applying it once. */
export interface UnlockEffect {
  kind: 'unlock'
  lock: string
  holder: string
}

/** The closed set of things that may change together with a job. */
export type Effect = EventEffect | IterationEffect | UnmarkEffect | UnlockEffect

// ---------------------------------------------------------------------------------------------------------- leases

export interface Lease {
  owner: string
  /** As given to `join`; opaque to the store. */
  host: string
  /** End of the lease on the store's clock: compare only for equality. */
  ends: number
  ended: boolean
  claimed: boolean
}

export interface Stranded {
  owner: string
  queue: string
  ticket: string
  text: string
}

export interface Restore {
  owner: string
  queue: string
  ticket: string
  /** null: the job is dropped. */
  to: Destination | null
  effects?: Effect[]
}

// ------------------------------------------------------------------------------------------------------------ sets

export interface Entry {
  text: string
  score: number
}

/** Compare-and-swap on a set: applied only while this very text stands there with this very score. */
export interface Swap extends Entry {
  /** null: the entry is dropped. */
  to: Destination | null
  effects?: Effect[]
}

/**
 * `gone` – somebody else was faster (or the item never was): no effect. `error` – the item can't be applied as it is;
 * nothing of it was.
 */
export type SwapAnswer = 'ok' | 'gone' | 'error'

// ----------------------------------------------------------------------------------------------------------- marks

/** `dropped` – its job was found within the last minute, and will not run because of it. */
export type MarkState = 'marked' | 'dropped' | 'none'

// ------------------------------------------------------------------------------------------------ looking

export interface StoreStats {
  processed: number
  failed: number
  enqueued: number
  /** Rows that wait inside their tasks, not counted in `enqueued`. */
  held: number
  /** Jobs that belong to an owner. */
  taken: number
  scheduled: number
  retries: number
  dead: number
}

export interface QueueInfo {
  name: string
  size: number
  /** Text of the job that is next; null when empty. */
  next: string | null
}

export interface ProcessRecord {
  identity: string
  /** JSON text: what does not change while the process lives. */
  info: string
  concurrency: number
  busy: number
  /** Milliseconds. */
  beat: number
  quiet: boolean
  /** kB. */
  rss: number
}

/** What a process works on, as it is shown to people. */
export interface RunningJob {
  /** Different for each of a process's running jobs. */
  slot: string
  queue: string
  text: string
  /** Milliseconds. */
  startedAt: number
  /** How far it has come, as its handler says. */
  progress?: { done: number; total?: number; note?: string }
}

export type Signal = 'TSTP' | 'TERM' | 'TTIN'

export interface BeatAnswer {
  /** The oldest signal that was sent to the process. */
  signal: Signal | null
  /** Whether it was shown before. */
  known: boolean
  /** Milliseconds that the store takes to answer; null where nobody is asked over a line. */
  rtt: number | null
}

// ----------------------------------------------------------------------------- searching, and acting on what waits

/** A job that waits in a queue. `at` is a hint for `pull` where it stands; opaque. */
export interface Waiting {
  text: string
  at: string
}

/** What one call of a search found. */
export interface Scan<Item> {
  items: Item[]
  /** Where to go on; null: all was looked at. */
  next: string | null
  /** How many this call has looked at. */
  scanned: number
}

export interface ScanPage {
  /** `next` of the page before. */
  after?: string | undefined
  /** Hits that are wanted; a scan of a set may answer more than that when they come together. */
  limit: number
}

/** Compare-and-swap on a queue: one job with this very text, wherever it stands. */
export interface Pull {
  text: string
  at?: string | undefined
  /** null: the job is dropped. */
  to: Destination | null
  effects?: Effect[] | undefined
}

export interface Cleared<Item> {
  removed: number
  /** Jobs that were met and left, because their text contains the mark. */
  met: Item[]
  /** Nothing but what was met is left. */
  done: boolean
}

/** What belongs to an owner. */
export interface Owned {
  owner: string
  queue: string
  text: string
}

// ----------------------------------------------------------------------------------------------------------- tasks

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

// ------------------------------------------------------------------------------------------------ transactions

/** What drivers of SQLite have in common; who knows which one it is may use all of it, but for its transactions. */
export interface SqlConnection {
  exec(sql: string): unknown
  prepare(sql: string): {
    run(...values: SqlValue[]): unknown
    get(...values: SqlValue[]): unknown
    all(...values: SqlValue[]): unknown[]
  }
}

export type SqlValue = string | number | bigint | Uint8Array | null

// --------------------------------------------------------------------------------------------------------- metrics

/** What ended of one class since its process told last. */
export interface JobCounts {
  /** The class's name: any text. */
  name: string
  processed: number
  failed: number
  /** Whole milliseconds that those took together that did not fail. */
  ms: number
  /** How many of those took how long: HISTOGRAM_BUCKETS counts. */
  histogram: readonly number[]
}

export const HISTOGRAM_BUCKETS = 26
/** A count of a histogram stays there. */
export const MOST_IN_A_BUCKET = 65_535

/** What a process tells at a time. `source` and `number` (1, 2, …) name it: recording it again changes nothing. */
export interface MetricsBatch {
  source: string
  number: number
  /** Milliseconds: in whose minute and ten minutes it counts. */
  at: number
  /** At most 100. */
  jobs: readonly JobCounts[]
}

/** What is known of a class in one span; absent where nothing is. */
export interface JobSums {
  /** Where the span begins, as it was asked for. */
  at: number
  name: string
  processed: number
  failed: number
  ms: number
}

export interface Deploy {
  /** Milliseconds: a full minute. */
  at: number
  label: string
}

// ------------------------------------------------------------------------------------------------------ iterations

/** What is known of an iteration; when it was cancelled before it ever ran, only that. */
export interface IterationRecord {
  executions: number
  runtime: number
  /** JSON text; null before the first item. */
  cursor: string | null
  /** Milliseconds; null: it is not. */
  cancelled: number | null
}

// ------------------------------------------------------------------------------------------------------------ cron

/** Something that runs by the clock. Its times are milliseconds of the callers' clocks. */
export interface CronRecord {
  name: string
  /** How an app defines it: JSON text, opaque to the store. */
  text: string
  /** Everything up to here is decided: what is due lies behind it. */
  tick: number
  paused: boolean
  /** Whether a process that lives defines it so. */
  living: boolean
  /** The last job that was pushed for it, and when; null: none yet. */
  jid: string | null
  pushedAt: number | null
}

/** Compare-and-swap on an entry's text. The same text again says only that this process lives. */
export interface CronDefinition {
  /** As it is known to stand; null: there is no such entry. */
  old: string | null
  text: string
  /** Where a new entry begins, or one that is changed; null: it goes on where it was. */
  tick: number | null
}

/** One decision about an entry that still stands as it was read. */
export interface CronTick {
  text: string
  from: number
  /** The tick that is decided. The same as `from`: the job is pushed out of turn, also while the entry is paused. */
  to: number
  /** null: the tick is passed over. With a `lock`, only if nobody has it; then this job does. */
  push: { jid: string; item: PushItem; lock?: string } | null
}

/** `gone`: another one was faster, or the entry is paused, changed or removed. A holder: the lock is not free. */
export type CronTickAnswer = 'ok' | 'gone' | { holder: string }

// ------------------------------------------------------------------------------------------------------- the store

/**
 * What a lease thread needs to renew on its own: `module` exports `openRenewer(options)`, which answers an object with
 * `renew(owner, seconds)` (false: lost) and `close()`. Both must survive `postMessage`.
 */
export interface Renewer {
  module: string
  options: Record<string, unknown>
}

export interface Store {
  /** `sqlite`, `redis`, …; for people. */
  readonly kind: string
  /** The URL without secrets; for people. */
  readonly url: string
  /** How many turns of one owner it is worth while to have under way at a time. */
  readonly turnsAtOnce: number

  /** Opens, and brings the schema up to date. Called by every other operation when needed; idempotent. */
  open(): Promise<void>
  /** Ends all waits and closes. Operations after it reject with STORE_CLOSED. */
  close(): Promise<void>

  /**
   * Stores jobs, ready or scheduled, in the order given. Atomic per job. Resolved: all are stored and survive what the
   * store promises to survive. Rejected with a PushError: `maybePushed` says whether they may be stored all the same.
   */
  push(items: PushItem[], now: number): Promise<void>

  // ------------------------------------------------------------------------------------------ transactions

  /**
   * Runs `work` once, in a write transaction of its own, and stores the jobs that it answers in the same commit: all of
   * it or nothing. `work` may answer in a later microtask, but waits for nothing else. It is not begun while others
   * write. null: the store has no transactions.
   */
  transaction: ((work: (connection: SqlConnection) => Promise<PushItem[]>, now: number) => Promise<void>) | null

  // ------------------------------------------------------------------------------------ take and settle

  /**
   * One step of a worker: tells what began, settles what ended, takes what comes next, in this order. Atomic per job.
   * A job that was taken belongs to `owner` from then on: if no answer comes it is found again by `stranded`. A
   * settlement either happened with all of its effects or not at all; asking again is harmless: a ticket that is gone
   * answers `fenced` and changes nothing.
   */
  turn(owner: string, turn: Turn): Promise<TurnAnswer>

  /**
   * Waits, without polling, until one of `queues` may have a job, at most `ms`, or until `signal` aborts. A store that
   * hands over jobs while waiting answers them, at most `n`: they are taken, and nothing was marked since the owner's last
   * turn. Empty: ask with `turn`.
   */
  wait(owner: string, queues: readonly string[], n: number, ms: number, signal: AbortSignal): Promise<Taken[]>

  // ------------------------------------------------------------------------------------------- leases

  /**
   * Enters an owner, before its first take. `host` says where it runs, for those who can tell that it died. An owner's
   * name is never used twice: one that is known, or was claimed within the last hour, is refused (false).
   */
  join(owner: string, about: { queues: readonly string[]; seconds: number; host: string }): Promise<boolean>
  /** Sets the end of the lease to now + seconds, also when it had ended. False: the owner is claimed or unknown. */
  renew(owner: string, seconds: number): Promise<boolean>
  /** Strikes the owner off, if it holds no job; else false and nothing changes: it will be claimed. */
  leave(owner: string): Promise<boolean>
  leases(): Promise<Lease[]>
  /**
   * Takes the lease away for good: from then on the owner's turns are fenced and its jobs can be restored. With `ends`,
   * only if the lease still ends there and is past; null: the owner is known to be dead. Tasks that the owner was adding
   * rows to become `interrupted`.
   */
  claim(owner: string, ends: number | null): Promise<boolean>
  /** Jobs of claimed owners, newest first per queue, so that restoring to the front in this order keeps their order. */
  stranded(limit: number): Promise<Stranded[]>
  /** Moves jobs of claimed owners. Atomic per job. `gone`: restored by another, or the owner is not claimed. */
  restore(items: Restore[], now: number): Promise<SwapAnswer[]>
  /** For the lease thread; null: the main thread renews. */
  renewer(): Renewer | null
  /** A lease on a duty that one process at a time should do. True: held (or still held) by `holder` for `seconds`. */
  hold(duty: string, holder: string, seconds: number): Promise<boolean>
  /** Gives a duty up, if `holder` has it. */
  letGo(duty: string, holder: string): Promise<void>

  // --------------------------------------------------------------------------------------------- sets

  /**
   * At most `limit` entries whose time has come, lowest first, and the score of the first one after them. Changes
   * nothing.
   */
  due(set: SetName, now: number, limit: number): Promise<{ entries: Entry[]; next: number | null }>
  /**
   * Moves or drops entries, each only if it is still as read. Atomic per entry: it is in the set or at its destination,
   * also after a crash.
   */
  swap(set: SetName, swaps: Swap[], now: number): Promise<SwapAnswer[]>
  /** Waits until something may be due earlier than known, at most `ms`, or until `signal` aborts. */
  waitDue(ms: number, signal: AbortSignal): Promise<void>
  size(set: SetName): Promise<number>
  /** A page in the order of (score, text), from behind `after` on, which need not be there. */
  entries(set: SetName, page: { after?: Entry; desc?: boolean; limit: number }): Promise<Entry[]>
  /** Keeps the newest `max` entries, and of those the ones with a score ≥ `since`. */
  trim(set: SetName, max: number, since: number): Promise<void>

  // ------------------------------------------------------------------- searching, and acting on what waits

  /**
   * A page of the jobs of a queue whose text contains `needle` (all of them, if it is empty), newest first. A call looks
   * at a bounded number, so it may find nothing and go on all the same. What is taken or pushed meanwhile makes it skip
   * nothing; it may meet a job again.
   */
  scanQueue(queue: string, needle: string, page: ScanPage): Promise<Scan<Waiting>>
  /** The same for a set, in any order. Each entry that stands there all the while is found at least once. */
  scanSet(set: SetName, needle: string, page: ScanPage): Promise<Scan<Entry>>
  /**
   * Takes jobs out of a queue, wherever they stand, and moves or drops them. Atomic per job; of twins each item takes
   * one. `gone`: no such text is in the queue. After an `error` the job is in the queue still, perhaps at its front.
   */
  pull(queue: string, items: Pull[], now: number): Promise<SwapAnswer[]>
  /**
   * Drops jobs of a queue, those first that are next, but for those whose text contains `mark`: with them something
   * else has to change, so they are told and left. All at once when no task has a row that is open, else about `most`,
   * and no more than a bounded number. An empty queue is listed no longer.
   */
  clearQueue(queue: string, mark: string, most: number): Promise<Cleared<Waiting>>
  /** The same for a set, lowest score first; without a `mark` all at once or a bounded number. */
  clearSet(set: SetName, mark: string | null): Promise<Cleared<Entry>>

  // -------------------------------------------------------------------------------------------- marks

  /**
   * Jobs of a paused queue are not taken: neither `turn` nor `wait` hands out one that it took after this resolved. What
   * runs goes on. `on` false: they are again, at once.
   */
  pause(queue: string, on: boolean): Promise<void>
  /** Names of the paused queues, in order. */
  paused(): Promise<string[]>
  /**
   * Marks a job, wherever it is and whether it is at all, as one that must not run (any more). Marking it again changes
   * nothing. At most 100,000 marks are kept, the newest, and one that is older than 30 days goes when the next is set.
   */
  markCancelled(jid: string, now: number): Promise<void>
  /** Takes a mark back; answers what it was. */
  unmark(jid: string, now: number): Promise<MarkState>
  /** Those of the jobs that are marked, or that another program has cancelled. */
  cancelledAmong(jids: readonly string[]): Promise<string[]>
  /**
   * Jobs marked since a version (0: all), at most 10,000, and the version to ask from next. One of them may lose its mark
   * at any time: `cancelledAmong` knows.
   */
  marks(since: number): Promise<{ version: number; jids: string[] }>

  // ------------------------------------------------------------------------------------------- looking

  stats(): Promise<StoreStats>
  /** Sets a total back to zero; the figures of the days stay. */
  resetStats(which: 'processed' | 'failed'): Promise<void>
  /** Processed and failed of each UTC day `YYYY-MM-DD`, in the order given. */
  history(days: readonly string[]): Promise<{ processed: number; failed: number }[]>
  /** All queues that are listed, by name; or these, in the order given, whether there is anything in them or not. */
  queues(only?: readonly string[]): Promise<QueueInfo[]>
  /** Texts of a queue, next to run first, from place `offset` on. */
  peek(queue: string, offset: number, limit: number): Promise<string[]>

  /** Shows a process, and what it works on, for the next `seconds`. */
  beat(process: ProcessRecord, seconds: number, running?: readonly RunningJob[]): Promise<BeatAnswer>
  processes(): Promise<ProcessRecord[]>
  forget(identity: string): Promise<void>
  /** False: no such process. */
  signal(identity: string, signal: Signal): Promise<boolean>
  /** What processes have shown that they work on, also those of other programs: up to a beat old. */
  running(): Promise<(RunningJob & { identity: string })[]>
  /** What belongs to owners now, in any order. */
  taken(page: { after?: string | undefined; limit: number }): Promise<{ items: Owned[]; next: string | null }>
  /** Identity of the process that leads, where somebody elects one (Sidekiq Enterprise does). */
  leader(): Promise<string | null>

  // --------------------------------------------------------------------------------------------- results

  /** Keeps a text under a job's id for `seconds`, instead of the one before; who waits for it hears of it. */
  keepResult(jid: string, text: string, seconds: number): Promise<void>
  /** The text that is kept; waits for it at most `ms`, or until `signal` aborts. null: there is none. */
  result(jid: string, ms?: number, signal?: AbortSignal): Promise<string | null>

  // --------------------------------------------------------------------------------------------- tasks

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

  // -------------------------------------------------------------------------------------------- metrics

  /**
   * Adds to the counts of the batch's minute and ten minutes. All of it or nothing. Minutes are kept for 8 hours, ten
   * minutes for 3 days.
   */
  recordMetrics(batch: MetricsBatch): Promise<void>
  /**
   * What ended in the minutes, or ten minutes, that begin at these times (milliseconds): of all classes, or of one.
   * @param span minutes
   */
  metrics(span: 1 | 10, times: readonly number[], name?: string): Promise<JobSums[]>
  /** The histograms of a class, of those of these minutes that have one. */
  histograms(name: string, minutes: readonly number[]): Promise<{ at: number; counts: number[] }[]>
  /**
   * Remembers a deploy for 90 days. False: the same label came within the last minute (many processes start at once), or
   * this minute has a deploy.
   */
  markDeploy(deploy: Deploy, now: number): Promise<boolean>
  /** The deploys of UTC days `YYYY-MM-DD`, oldest first. */
  deploys(days: readonly string[]): Promise<Deploy[]>

  // ----------------------------------------------------------------------------------------- iterations

  /** In the order given; null where nothing is known. */
  iterations(jids: readonly string[]): Promise<(IterationRecord | null)[]>
  /**
   * Keeps how far an iteration has come, 30 days from the first time on. False: a later execution has begun to save, and
   * nothing changed.
   */
  saveIteration(jid: string, state: IterationState, now: number): Promise<boolean>

  // ---------------------------------------------------------------------------------------------- cron

  /** All entries in the order of their names, or those of some. */
  crons(names?: readonly string[]): Promise<CronRecord[]>
  /**
   * Says how a process defines an entry, and that it lives for the next `seconds` (of the store's clock). False: the
   * entry stands otherwise than was known, and nothing has changed.
   */
  defineCron(name: string, definition: CronDefinition, seconds: number): Promise<boolean>
  /**
   * Decides a tick and pushes its job, in one step: of any number of callers one does it. After a crash or a lost answer
   * both have happened or neither.
   * @throws as `push` does, and then nothing has changed or (`maybePushed`) it is not known
   */
  tickCron(name: string, tick: CronTick, now: number): Promise<CronTickAnswer>
  /** What was due in a pause is not made good: an entry that goes on does so from `now`. False: no such entry. */
  pauseCron(name: string, paused: boolean, now: number): Promise<boolean>
  /** False: no such entry. */
  forgetCron(name: string): Promise<boolean>
  /** Frees a lock, if `holder` has it. */
  unlock(lock: string, holder: string): Promise<void>
}
