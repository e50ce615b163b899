/** Schemas of jobs: found, running, in queues and in job sets; of processes and of cron entries. */

import * as v from 'valibot'
import * as s from './building-blocks.ts'
import { TaskEvent } from './tasks.ts'

// Lists and details --------------------------------------------------------------------------------------------

/** The most characters of a text in a list. */
const short = v.pipe(s.text, v.maxLength(300))
const taskRow = s.orNull(s.object({ id: s.text, index: s.count }))

const listed = {
  jid: short,
  class: s.described(short, 'the class that people know: for an Active Job the wrapped class'),
  queue: short,
  priority: s.described(s.count, '0 to 9, in its queue'),
  preview: s.described(short, 'the beginning of its arguments as JSON, redacted'),
  tags: s.list(short),
  createdAt: s.orNull(s.time),
  enqueuedAt: s.orNull(s.time),
}
const summary = {
  ...listed,
  bytes: s.described(s.count, 'size of the whole payload'),
  key: s.described(s.text, 'identifies exactly this entry in requests'),
}
const failure = {
  error: s.orNull(s.object({ class: s.orNull(short), message: s.text })),
  failures: s.described(s.count, 'runs that failed'),
  retries: s.described(s.orNull(s.count), 'the most retries; null when the payload does not say'),
  failedAt: s.orNull(s.time),
  retriedAt: s.orNull(s.time),
  task: taskRow,
}

const limitKind = s.described(
  s.oneOf(['job', 'shared', 'queue', 'app']),
  'shared: a limit of hq.limit; app: of all jobs',
)

/** A page with the number of scanned entries. */
const searched = <S extends v.GenericSchema>(item: S) => s.object({ ...s.pageOf(item).entries, scanned: s.count })

export const JobSummary = s.object(summary)
export const JobSummaryList = searched(JobSummary)
export const JobSetEntry = s.object({
  ...summary,
  ...failure,
  at: s.described(s.time, 'when it is due, or when it died or finished'),
})
export const JobSetEntryList = searched(JobSetEntry)
export const JobDetail = s.object({
  ...summary,
  ...failure,
  at: s.described(s.orNull(s.time), 'null for a job that is in no set'),
  args: s.described(s.orNull(s.anyList), 'redacted; null when they are too long to show: see argsText'),
  argsText: s.described(s.text, 'the arguments as JSON, cut when they are long'),
  bid: s.described(s.orNull(s.text), 'the batch of the job'),
  limit: s.described(
    s.orNull(s.object({ id: s.text, kind: limitKind, name: s.text, position: s.positive, key: s.orNull(s.text) })),
    'the limit for which it waits',
  ),
  locks: s.described(s.list(s.text), 'the keys of the locks that it has as a unique job'),
  hidden: s.described(s.boolean, 'true: `redact` hides parts of its arguments, so they can not be edited'),
  backtrace: s.described(s.orNull(s.list(s.text)), 'its frames, outermost last; null when none is kept'),
  payload: s.described(s.anyObject, 'all other members'),
})

const JOB_STATES = [
  'queued',
  'running',
  'scheduled',
  'retry',
  'limited',
  'waiting-children',
  'dead',
  'succeeded',
  'backlog',
  'ended',
  'unknown',
] as const

const progress = s.orNull(s.object({ done: s.number, total: s.optional(s.number), note: s.optional(s.text) }))

export const Job = s.object({
  jid: s.text,
  state: s.oneOf(JOB_STATES),
  gaveUp: s.described(s.boolean, 'true when the search reached its time limit, so that `state` is not certain'),
  queue: s.orNull(s.text),
  class: s.orNull(s.text),
  args: s.orNull(s.anyList),
  tags: s.list(s.text),
  createdAt: s.orNull(s.time),
  enqueuedAt: s.orNull(s.time),
  failedAt: s.orNull(s.time),
  startedAt: s.described(s.orNull(s.time), 'of a finished job: the start of its last attempt'),
  finishedAt: s.described(s.orNull(s.time), 'of a finished job'),
  retryCount: s.orNull(s.count),
  errorClass: s.orNull(s.text),
  errorMessage: s.orNull(s.text),
  job: s.described(s.orNull(JobDetail), 'its key is valid where `state` says the job is; empty for a running job'),
  task: taskRow,
  event: s.orNull(TaskEvent),
  result: s.described(v.unknown(), 'the result of its handler, if it is kept; else null'),
  failure: s.described(s.orNull(v.looseObject({ message: s.text })), 'why the job failed for good, if it is kept'),
  progress: s.described(progress, 'the last one that its handler reported, of a running or finished job'),
})
export const JobCancelled = s.object({ jid: s.text, outcome: s.oneOf(['removed', 'signalled', 'requested']) })

export const Running = s.object({
  ...listed,
  priority: s.described(s.count, '0 to 9, in its queue'),
  process: s.described(s.text, 'identity of the process'),
  thread: s.described(s.text, 'unique among the running jobs of a process'),
  startedAt: s.time,
  progress,
})
export const RunningList = s.object({
  ...s.pageOf(Running).entries,
  matching: s.described(s.count, 'how many running jobs match the filter'),
  total: s.described(s.count, 'all running jobs'),
})

// Job sets -----------------------------------------------------------------------------------------------------

export const ErrorGroups = s.object({
  items: s.list(
    s.object({
      class: s.orNull(s.text),
      message: s.described(s.text, 'without numbers of more than five digits, ids, times and addresses'),
      count: s.count,
      messages: s.described(s.count, 'the number of different messages; counting stops at 1,000'),
      jobs: s.described(s.list(s.text), 'classes of jobs that failed with it'),
      since: s.described(s.orNull(s.time), 'when the first job of the group failed'),
      filter: s.described(s.text, 'the value of the parameter `cause` that finds exactly these jobs'),
    }),
  ),
  matching: s.described(s.count, 'how many of the scanned jobs match, with an error or without'),
  scanned: s.count,
  complete: s.described(s.boolean, 'true when all jobs were scanned'),
})

const selected = s.must(
  v.pipe(s.list(s.object({ jid: s.text, key: s.optional(s.text) })), v.maxLength(s.MOST_JOBS)),
  `a list of at most ${s.MOST_JOBS} { jid, key } from the entries of a list (use …/all/… for more)`,
)
const oneTime = ({ at, in: wait }: { at?: unknown; in?: unknown }) => (at === undefined) !== (wait === undefined)
const ONE_TIME = 'give either `at`, or `in` (seconds from now)'

export const Selected = s.object({ jobs: selected })
export const SelectedForLater = s.rule(s.object({ jobs: selected, ...s.later }), oneTime, ONE_TIME)
export const ForLater = s.rule(s.object(s.later), oneTime, ONE_TIME)

const filled = s.optional(s.must(v.pipe(s.text, v.nonEmpty()), 'a non-empty string: leave it out to select all'))
const isFilled = (object: object) => Object.keys(object).length > 0
const values = s.optional(s.must(s.rule(s.anyObject, isFilled, ''), 'an object with values by their names'))
const filter = {
  ...{ search: filled, jid: filled, class: filled, queue: filled, tag: filled },
  ...{ error: filled, errorClass: filled, cause: filled },
  args: s.described(values, 'values in the arguments by their paths: 0.customer, or *.customer for any argument'),
}
export const JobFilter = s.object(filter)

const SEARCHED = [
  ...(['scheduled', 'retry', 'limited', 'backlog', 'queued', 'ordered', 'running'] as const),
  ...(['dead', 'rejected', 'morgue', 'succeeded', 'finished'] as const),
]
const ofAnyTime = s.optional(s.must(s.when, 'a time in ISO 8601, or seconds since the epoch'))
export const JobsFilter = s.object({
  state: s.must(v.pipe(s.list(s.oneOf(SEARCHED)), v.minLength(1)), `a list of states: ${SEARCHED.join(', ')}`),
  ...filter,
  meta: s.described(values, 'rows of tasks with these values in their meta'),
  from: s.described(ofAnyTime, 'the time of the job (see `at` in the list) is not before this'),
  until: s.described(ofAnyTime, 'its time is before this'),
})
export const JobHit = s.object({
  state: s.oneOf(SEARCHED),
  ...summary,
  key: s.described(s.text, 'identifies exactly this job in requests about its set or queue; empty in other states'),
  ...failure,
  at: s.described(s.orNull(s.time), 'when it is due, died or finished, entered its queue or its task, or started'),
  process: s.described(s.orNull(s.text), 'of a running job: the identity of its process'),
  orderedId: s.described(s.orNull(s.text), 'of an ordered queue: the id'),
})
export const JobHitList = searched(JobHit)
export const JobCounts = s.object({
  items: s.list(
    s.object({
      state: s.oneOf(SEARCHED),
      size: s.described(s.orNull(s.count), 'all jobs of the state; null for rejected and finished rows'),
      matching: s.described(s.count, 'those of the scanned jobs that match'),
      scanned: s.count,
      complete: s.described(s.boolean, 'true when all jobs of the state were scanned'),
    }),
  ),
})

export const Acted = s.object({
  done: s.count,
  refused: s.described(s.count, 'jobs that were gone, or could not be moved'),
  error: s.described(s.optional(s.text), 'why the first job was refused'),
  moved: s.described(
    s.optional(s.list(s.object({ jid: short, key: s.text, was: s.orNull(s.number) }))),
    'jobs that were moved to another time: their new keys, and when they were due before, in seconds',
  ),
})
export const Sweeping = s.object({ done: s.count, refused: s.count, error: s.optional(s.text), ended: s.boolean })

// Queues, processes and cron entries ---------------------------------------------------------------------------

export const Queue = s.object({
  name: s.text,
  size: s.described(s.count, 'its jobs that wait, with the limited ones'),
  limited: s.described(s.count, 'how many of them wait for room in their limits'),
  maxLength: s.described(
    s.orNull(s.count),
    'the most jobs that wait in it, as the apps of running workers set it; null: they set none',
  ),
  backlog: s.described(s.count, 'rows in the backlogs of tasks for this queue'),
  latency: s.described(s.amount, 'seconds that its oldest job has waited'),
  paused: s.boolean,
  ignoredBy: s.described(s.list(s.text), 'identities of Sidekiq processes that serve it: they ignore a pause'),
  slots: s.described(s.count, 'the most jobs that its processes run at the same time'),
  servedBy: s.described(s.list(s.text), 'identities of the processes that serve it'),
  trend: s.described(
    s.orNull(
      s.object({
        perMinute: s.described(s.number, 'jobs by which it grows; below 0 when it shrinks'),
        emptyIn: s.described(s.orNull(s.count), 'seconds until it is empty; null when it does not shrink'),
      }),
    ),
    'its change in the last minute; null until the server has seen two samples, ten seconds apart',
  ),
})
export const QueueList = s.pageOf(Queue)
export const QueueClasses = s.object({
  items: s.list(
    s.object({
      class: short,
      count: s.count,
      since: s.described(s.orNull(s.time), 'when the one of them that is fetched first entered the queue'),
    }),
  ),
  scanned: s.described(s.count, 'the jobs that were counted, those that are fetched next'),
  complete: s.described(s.boolean, 'true when all jobs were counted'),
})
export const Cleared = s.object({ done: s.count })

export const Process = s.object({
  identity: s.text,
  hostname: s.text,
  pid: s.count,
  tag: s.text,
  labels: s.list(s.text),
  queues: s.list(s.text),
  definedQueues: s.described(s.list(s.text), 'the queues that the jobs of its app name'),
  version: s.text,
  ours: s.described(s.boolean, 'true for a process of Highkiq, false for one of Sidekiq'),
  embedded: s.described(s.boolean, 'runs inside another program: only its concurrency can be changed'),
  busy: s.count,
  concurrency: s.described(s.count, 'the most jobs and ordered batches at the same time'),
  orderedConcurrency: s.described(s.count, 'the part of it for ordered batches'),
  capsules: s.described(s.list(s.object({ name: s.text, concurrency: s.count })), 'its queues with slots of their own'),
  rss: s.described(s.count, 'kB'),
  quiet: s.boolean,
  leader: s.boolean,
  startedAt: s.time,
  beat: s.described(s.time, 'time of its last heartbeat'),
  state: s.oneOf(['live', 'quiet', 'silent']),
})
const { definedQueues: _, ...shortProcess } = Process.entries

/** A list as it has changed since a version. */
const changesOf = <S extends v.GenericSchema>(item: S) =>
  s.object({
    version: s.described(s.text, 'for the parameter `since` of the next request'),
    whole: s.described(s.boolean, 'true: `items` is the whole list and replaces the one that the client has'),
    items: s.described(s.list(item), 'those that are new or have changed'),
    removed: s.described(s.list(s.text), 'the names or identities of those that are gone'),
  })

export const LiveQueue = s.object({
  name: s.text,
  size: s.described(s.count, 'its jobs that wait, with the limited ones'),
  limited: s.described(s.count, 'how many of them wait for room in their limits'),
  maxLength: s.described(
    s.orNull(s.count),
    'the most jobs that wait in it, as the apps of running workers set it; null: they set none',
  ),
  backlog: s.described(s.count, 'rows in the backlogs of tasks for this queue'),
  waitingSince: s.described(s.orNull(s.time), 'since when its oldest job has waited; null when none waits'),
  paused: s.boolean,
  slots: s.described(s.count, 'the most jobs that its processes run at the same time'),
  processes: s.described(s.count, 'the processes that serve it'),
})
export const LiveQueueList = changesOf(LiveQueue)
export const LiveProcess = s.object({
  ...shortProcess,
  queues: s.described(s.list(s.text), 'the first 20 of its queues'),
  moreQueues: s.described(s.count, 'how many queues it has beside these'),
})
export const LiveProcessList = changesOf(LiveProcess)

export const ProcessSettings = s.object({
  concurrency: s.must(s.positive, 'a whole number above 0'),
  capsule: s.optional(s.must(s.text, 'a string')),
})
export const ProcessList = s.pageOf(Process)

export const Batch = s.object({
  bid: s.text,
  parent: s.described(s.orNull(s.text), 'the batch of which this one is a member'),
  state: s.oneOf(['running', 'succeeded', 'dead', 'failed']),
  description: s.orNull(s.text),
  data: s.described(s.anything, 'redacted'),
  total: s.count,
  pending: s.count,
  retrying: s.described(s.count, 'the pending jobs whose last attempt failed'),
  dead: s.count,
  failed: s.described(s.count, 'members that ended without success'),
  succeeded: s.count,
  cancelling: s.described(s.boolean, 'whether it was cancelled and has pending jobs'),
  waiting: s.described(
    s.orNull(s.object({ jid: s.text, queue: s.text, onChildFailure: s.oneOf(['fail', 'ignore', 'wait']) })),
    'the job of a flow that waits for the members',
  ),
  callbacks: s.described(
    s.list(
      s.object({
        when: s.oneOf(['onSuccess', 'onComplete', 'onDeath']),
        job: s.text,
        jid: s.text,
        pushedAt: s.orNull(s.time),
      }),
    ),
    'the jobs that it pushes',
  ),
  createdAt: s.time,
  progressAt: s.time,
  completedAt: s.orNull(s.time),
  succeededAt: s.orNull(s.time),
  diedAt: s.orNull(s.time),
})
export const BatchList = s.pageOf(Batch)
export const BatchMember = s.object({
  id: s.described(s.text, 'the jid of a job, or the bid of a nested batch'),
  state: s.oneOf(['waiting', 'retrying', 'dead']),
  batch: s.described(s.orNull(s.text), 'the nested batch, or that in which the job waits for its children'),
})
export const BatchMemberList = s.pageOf(BatchMember)
export const BatchCancelled = s.object({ cancelled: s.described(s.count, 'jobs that will not run (any more)') })

export const UniqueLock = s.object({
  key: s.text,
  jid: s.text,
  endsAt: s.described(s.orNull(s.time), 'null: when its job has ended'),
  outlivesJob: s.described(s.boolean, 'held until endsAt, also when its job has ended before'),
})
export const UniqueLockList = s.pageOf(UniqueLock)

export const CronEntry = s.object({
  name: s.text,
  spec: s.text,
  timeZone: s.text,
  job: s.text,
  queue: s.orNull(s.text),
  args: s.described(s.orNull(s.anyList), 'redacted; null when a function of the app makes them'),
  missed: s.oneOf(['skip', 'once', 'all']),
  overlap: s.oneOf(['allow', 'skip']),
  paused: s.boolean,
  defined: s.described(s.boolean, 'whether a live process defines the entry; without one it does not run'),
  lastAt: s.orNull(s.time),
  lastJid: s.orNull(s.text),
  runs: s.described(
    s.list(
      s.object({
        jid: s.text,
        tick: s.described(s.orNull(s.time), 'null: it was pushed off schedule'),
        pushedAt: s.time,
        state: s.described(
          s.oneOf(['waiting', 'running', 'retrying', 'succeeded', 'failed', 'dead', 'cancelled']),
          'failed: a business failure, or discarded',
        ),
        startedAt: s.described(s.orNull(s.time), 'of the last attempt'),
        endedAt: s.described(s.orNull(s.time), 'of the last attempt'),
      }),
    ),
    'the newest 20, newest first',
  ),
  nextAt: s.orNull(s.time),
  next: s.described(s.list(s.time), 'the next five ticks, ignoring a pause'),
})
export const CronEntryList = s.pageOf(CronEntry)

const figure = {
  concurrency: s.described(s.orNull(s.positive), 'the jobs that run at the same time at most'),
  rate: s.described(s.orNull(s.positive), 'the jobs that start within `per` at most'),
  per: s.described(s.orNull(s.amount), 'seconds'),
  burst: s.orNull(s.positive),
}

export const LimitInfo = s.object({
  id: s.described(s.text, 'the limit without its key, as the routes take it: `app`, `queue:mail`, `job:Charge`'),
  kind: limitKind,
  name: s.described(s.text, 'of the job, of the limit or of the queue'),
  position: s.described(s.positive, 'of a limit among those of its job; 1 for the other kinds'),
  key: s.described(s.orNull(s.text), 'null: the limit has no keys'),
  ...figure,
  window: s.orNull(s.oneOf(['fixed', 'sliding'])),
  used: s.described(s.count, 'jobs that have a slot'),
  waiting: s.described(s.count, 'jobs that wait for room'),
  nextStart: s.described(s.orNull(s.amount), 'seconds until a rate lets one more job start'),
  set: s.described(s.orNull(s.object(figure)), 'the numbers that were set'),
  code: s.described(
    s.orNull(s.object(figure)),
    'the numbers of the code, when others were set and the limit is in use',
  ),
})
export const LimitList = s.pageOf(LimitInfo)

const setNumber = s.optional(s.must(s.orNull(s.positive), 'a whole number above 0, or null for that of the code'))
export const LimitSettings = s.object({
  concurrency: setNumber,
  rate: setNumber,
  per: s.optional(s.must(v.union([s.number, s.text]), "a time in seconds, or as in '1m'")),
  burst: setNumber,
})
