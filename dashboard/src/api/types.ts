/** What `/api/v1` answers, as JSON brings it: times are ISO 8601 texts. The server's schemas say the same. */

export interface Page<Item> {
  items: Item[]
  /** The `cursor` of the next page; null at the end. */
  next: string | null
}

/** Of a page that was searched for: how many were looked at. It may be empty and go on all the same. */
export interface Searched<Item> extends Page<Item> {
  scanned: number
}

/** GET /about: what does not change while the page is open. */
export interface About {
  version: string
  /** What it is called: the tag of the app, else the name of its folder. */
  app: string
  environment: string
  store: { kind: 'sqlite' | 'redis'; title: string }
  readOnly: boolean
  /** Whether a cookie has let us in: `POST /logout` (not under /api) forgets it. */
  canLogOut: boolean
  /** Jobs that this process knows, by name: those a file can be imported for. */
  jobs: { name: string; queue: string }[]
}

/**
 * GET /live-stats, and the event `stats` of GET /live, at most every two seconds. While the store does not answer, the
 * stream sends `trouble` with `{ code, message }` instead.
 */
export interface LiveStats {
  at: string
  /** Milliseconds that the store took to answer. */
  roundTrip: number
  stats: Stats
  /** Per second, over the last 10 s or what is known of them. */
  finishedPerSecond: number
  failedPerSecond: number
  alerts: Alert[]
  /** Running tasks; ordered queues; cron entries: for the counts in the navigation. */
  tasks: number
  orderedQueues: number
  crons: number
  queues: number
}

export interface Stats {
  processed: number
  failed: number
  busy: number
  enqueued: number
  backlog: number
  scheduled: number
  retries: number
  dead: number
  processes: number
  /** Jobs and batches of ordered queues that all processes together run at the same time. */
  concurrency: number
  /** The part of `concurrency` for batches of ordered queues. */
  orderedConcurrency: number
  defaultLatency: number
  ordered: { total: { length: number; morgueLength: number; lag: number } }
}

/** A problem that needs attention, the worst first. The page words it. */
export type Alert =
  | {
      kind: 'retries-share-error'
      level: 'error'
      error: string
      /** As the parameter `error` of /retries it finds them. */
      filter: string
      class: string
      count: number
      since: string
    }
  | { kind: 'process-silent'; level: 'error'; identity: string; beat: string; busy: number; returnsIn: number }
  | { kind: 'queue-grows'; level: 'failed'; queue: string; perMinute: number; minutes: number; latency: number }
  | { kind: 'queue-unserved'; level: 'error'; queue: string; size: number }
  | { kind: 'queue-without-worker'; level: 'failed'; queue: string }
  | { kind: 'task-stands-still'; level: 'failed'; task: string; name: string; minutes: number }
  | { kind: 'task-paused'; level: 'failed'; task: string; name: string; reason: string | null }
  | { kind: 'ordered-silent'; level: 'failed'; queue: string; shard: number; lag: number }
  | { kind: 'no-process'; level: 'error'; waiting: number }

/** GET /history?days= */
export interface Day {
  date: string
  processed: number
  failed: number
}

/** GET /throughput?range=5m|1h|24h|30d */
export interface Throughput {
  from: string
  to: string
  /** Seconds from point to point. */
  step: number
  points: { at: string; finished: number; failed: number }[]
  deploys: Deploy[]
}

export interface Deploy {
  at: string
  label: string
}

/** GET /gauges: what this server saw since somebody looks, at most the last hour. */
export interface Gauges {
  step: number
  points: {
    at: string
    finished: number
    failed: number
    busy: number
    enqueued: number
    retries: number
    dead: number
  }[]
}

/** GET /queues, /queues/:name */
export interface Queue {
  name: string
  size: number
  /** Rows that running tasks hold back for it. */
  backlog: number
  /** Seconds that its next job has waited. */
  latency: number
  paused: boolean
  /** Live Sidekiq processes that serve it, and know of no pause. */
  ignoredBy: string[]
  /** Of the processes that serve it. */
  slots: number
  /** Identities. */
  servedBy: string[]
}

/** What a list shows of a job. */
export interface JobSummary {
  jid: string
  class: string
  queue: string
  /** Its arguments as JSON, redacted, cut at 300 characters. */
  preview: string
  /** Bytes of the whole payload. */
  bytes: number
  tags: string[]
  createdAt: string | null
  enqueuedAt: string | null
  /** Its place, for acting on it: names exactly this entry. Of a set or a queue. */
  key: string
}

/** GET /queues/:name/jobs?cursor=&limit=&search= */
export type QueuedJob = JobSummary

/** GET /retries, /scheduled, /dead ?cursor=&limit=&search=&class=&error=&queue=&desc= */
export interface SetJob extends JobSummary {
  /** When it is due, or when it died. */
  at: string
  error: { class: string | null; message: string } | null
  /** Runs that failed. */
  failures: number
  /** At most so many retries; null where it is not said. */
  retries: number | null
  failedAt: string | null
  retriedAt: string | null
  /** The row of a task that it is. */
  task: { id: string; index: number } | null
}

export interface ErrorGroup {
  class: string | null
  /** The message without what varies: numbers of more than five digits, ids, times and addresses. */
  message: string
  count: number
  /** The number of different messages in the group; counting stops at 1,000. */
  messages: number
  /** Classes of jobs that failed of it. */
  jobs: string[]
  since: string | null
  /** The value of the parameter `cause` that finds exactly these jobs. */
  filter: string
}

/** GET /retries/errors ?search=&class=&error=&queue= (and scheduled, dead): what they failed of, the most frequent first. */
export interface ErrorGroups {
  items: ErrorGroup[]
  /** Of those that were looked at, how many the filters mean, with an error or without. */
  matching: number
  /** How many were looked at; all of them if `complete`. */
  scanned: number
  complete: boolean
}

export type JobState = 'queued' | 'running' | 'scheduled' | 'retry' | 'dead' | 'backlog' | 'ended' | 'unknown'

/** GET /jobs/:jid: where it is, and all that is known. */
export interface FoundJob {
  jid: string
  state: JobState
  queue: string | null
  class: string | null
  args: unknown[] | null
  /** null when nothing is left of it. */
  job: JobDetail | null
  /** Of a row of a task. */
  event: TaskEvent | null
  result: unknown
  failure: { message: string } | null
}

/** GET /retries/:jid?key= , /queues/:name/jobs/:jid?key= , and as `job` of GET /jobs/:jid */
export interface JobDetail extends Omit<SetJob, 'at'> {
  /** null: it is in no set. */
  at: string | null
  /** Redacted; null when it is longer than 64 kB: `argsText` has its beginning, `?whole=true` all of it. */
  args: unknown[] | null
  argsText: string
  /** Frames, outermost last; null when none is kept. */
  backtrace: string[] | null
  /** All other members of its payload. */
  payload: Record<string, unknown>
}

/** POST /retries/{retry,kill,delete,reschedule}, and the like: what happened. */
export interface Acted {
  done: number
  /** That were not there any more, or could not be moved. */
  refused: number
  error?: string
  /** Of those that were put off: what puts them back, if they are still there. */
  moved?: { jid: string; key: string; was: number }[]
}

/**
 * The whole set: POST /retries/all/{retry,kill,delete} `{ search?, class?, error?, queue? }`. With
 * `Accept: application/x-ndjson` a line each now and then, the last with `ended: true`; who hangs up stops it.
 */
export interface Sweeping extends Acted {
  ended: boolean
}

/** GET /processes */
export interface Process {
  identity: string
  hostname: string
  pid: number
  tag: string
  labels: string[]
  queues: string[]
  version: string
  ours: boolean
  embedded: boolean
  busy: number
  /** Jobs and batches of ordered queues at the same time. */
  concurrency: number
  /** The part of `concurrency` for batches of ordered queues. */
  orderedConcurrency: number
  /** kB */
  rss: number
  quiet: boolean
  leader: boolean
  startedAt: string
  beat: string
  state: 'live' | 'quiet' | 'silent'
}

/** GET /running */
export interface RunningJob extends Omit<JobSummary, 'key' | 'bytes'> {
  process: string
  thread: string
  startedAt: string
  progress: { done: number; total?: number; note?: string } | null
}

/** GET /cron */
export interface CronEntry {
  name: string
  spec: string
  timeZone: string
  job: string
  queue: string | null
  /** As JSON, redacted; null: a function of its app makes them. */
  args: unknown[] | null
  missed: 'skip' | 'once' | 'all'
  overlap: 'allow' | 'skip'
  paused: boolean
  /** Whether a process that lives defines it; else it does not run. */
  defined: boolean
  lastAt: string | null
  lastJid: string | null
  nextAt: string | null
  /** The next five ticks, as if it were not paused. */
  next: string[]
}

/** GET /metrics?minutes=|hours=&filter= under /api/v1 */
export interface JobFigures {
  name: string
  processed: number
  failed: number
  success: number
  seconds: number
  average: number
}
export interface Step {
  at: string
  processed: number
  failed: number
  seconds: number
}
export interface TopJobs {
  from: string
  to: string
  step: number
  jobs: (JobFigures & { p50: number | null; p95: number | null; p99: number | null; steps: Step[] })[]
  deploys: Deploy[]
}

/** GET /metrics/:class?minutes= */
export interface JobMetrics extends JobFigures {
  from: string
  to: string
  p50: number | null
  p95: number | null
  p99: number | null
  histogram: { label: string; count: number }[]
  minutes: (Step & { histogram: number[] })[]
  deploys: Deploy[]
}

export type EventStatus = 'enqueued' | 'working' | 'finished' | 'failed' | 'error' | 'cancelled'
export type TaskState = 'adding' | 'running' | 'paused' | 'interrupted' | 'cancelling' | 'done' | 'cancelled'

/** GET /tasks (Page), /tasks/:id, and events `status` and `done` of /tasks/:id/stream */
export interface TaskStatus {
  id: string
  name: string
  job: string
  queue: string
  state: TaskState
  run: number
  runAt: string
  total: number
  backlog: number
  retrying: number
  window: number
  rowsPerJob: number | null
  maxFailures: number | string | null
  onMaxFailures: 'pause' | 'cancel'
  reason?: string
  counts: Record<EventStatus, number>
  percent: number
  createdAt: string
  finishedAt: string | null
  ratePerSecond: number
  etaSeconds: number | null
  /** The format of the file that the task was imported from; only in the answer about one task. */
  format?: string | null
  /** Of one task: the format of the file that an export makes. */
  export?: string | null
}

/** GET /tasks/:id/events?status=&code=&cursor=&limit= */
export interface TaskEvent {
  index: number
  jid: string
  job: string
  /** The row of its file; null where it is of no file. */
  number: number | null
  status: EventStatus
  args: unknown[] | null
  attempts: number
  code: string | null
  messages: { at: string; text: string }[]
  startedAt: string | null
  finishedAt: string | null
  result?: unknown
}

/** GET /tasks/:id/reasons?samples= */
export interface Reason {
  status: EventStatus
  code: string | null
  /** True: the count of all rows whose codes are not counted one by one; `code` is null then. */
  otherCodes?: true
  count: number
  samples: { index: number; number: number | null; message: string | null }[]
}

/** GET /ordered, /ordered/:name */
export interface OrderedQueue {
  name: string
  length: number
  fresh: number
  retries: number
  busy: number
  processed: number
  failed: number
  morgueLength: number
  lag: number
  paused: boolean
  shards: OrderedShard[]
}

export interface OrderedShard {
  shard: number
  owner: string | null
  length: number
  fresh: number
  retries: number
  busy: number
  processed: number
  failed: number
  lag: number
}

/** GET /ordered/:name/waiting?by=&desc=&from=&cursor=&limit= */
export interface OrderedWaiting {
  id: string
  shard: number
  performIn: string
  /** -1: fresh; 0: it failed once */
  retryCount: number
  error: string | null
  payloads: { payload: unknown; score: number }[]
  size: number
}

/** GET /ordered/:name/morgue */
export interface OrderedDead {
  id: string
  payloads: { payload: unknown; score: number }[]
  updatedAt: string
  error: string | null
  deaths: number
}
