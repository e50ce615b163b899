/** Schemas of jobs: pushed, found, running, in queues and in job sets; of processes and of cron entries. */

import * as v from 'valibot'
import {
  amount,
  anyList,
  anyObject,
  boolean,
  count,
  described,
  list,
  MOST_JOBS,
  must,
  number,
  object,
  oneOf,
  optional,
  orNull,
  pageOf,
  rule,
  text,
  time,
} from './building-blocks.ts'
import { TaskEvent } from './tasks.ts'

const when = v.union([text, number])

export const NewJob = described(
  v.looseObject({
    class: v.pipe(text, v.minLength(1)),
    args: anyList,
    queue: optional(text),
    at: described(optional(when), 'when: ISO 8601, or seconds since the epoch'),
    in: described(optional(v.union([text, number, anyObject])), "from now: seconds, '5m', { minutes: 5 }"),
    jid: optional(text),
    retry: optional(v.union([boolean, v.pipe(number, v.integer())])),
    retryFor: optional(number),
    expiresIn: optional(number),
    tags: optional(list(text)),
  }),
  'Other members are copied to the payload.',
)
export const Pushed = object({ jid: orNull(text) })
export const AllPushed = object({ jids: list(orNull(text)) })
export const NewJobs = v.union([NewJob, list(NewJob)])
export const PushedJobs = v.union([Pushed, AllPushed])

// Lists and details --------------------------------------------------------------------------------------------

/** The most characters of a text in a list. */
const short = v.pipe(text, v.maxLength(300))
const taskRow = orNull(object({ id: text, index: count }))

const listed = {
  jid: short,
  class: described(short, 'the class that people know: for an Active Job the wrapped class'),
  queue: short,
  preview: described(short, 'the beginning of its arguments as JSON, redacted'),
  tags: list(short),
  createdAt: orNull(time),
  enqueuedAt: orNull(time),
}
const summary = {
  ...listed,
  bytes: described(count, 'size of the whole payload'),
  key: described(text, 'identifies exactly this entry in requests'),
}
const failure = {
  error: orNull(object({ class: orNull(short), message: text })),
  failures: described(count, 'runs that failed'),
  retries: described(orNull(count), 'the most retries; null when the payload does not say'),
  failedAt: orNull(time),
  retriedAt: orNull(time),
  task: taskRow,
}

/** A page with the number of scanned entries. */
const searched = <S extends v.GenericSchema>(item: S) => object({ ...pageOf(item).entries, scanned: count })

export const JobSummary = object(summary)
export const JobSummaryList = searched(JobSummary)
export const JobSetEntry = object({ ...summary, ...failure, at: described(time, 'when it is due, or when it died') })
export const JobSetEntryList = searched(JobSetEntry)
export const JobDetail = object({
  ...summary,
  ...failure,
  at: described(orNull(time), 'null for a job that is in no set'),
  args: described(orNull(anyList), 'redacted; null when they are too long to show: see argsText'),
  argsText: described(text, 'the arguments as JSON, cut when they are long'),
  backtrace: described(orNull(list(text)), 'its frames, outermost last; null when none is kept'),
  payload: described(anyObject, 'all other members'),
})

export const Job = object({
  jid: text,
  state: oneOf(['queued', 'running', 'scheduled', 'retry', 'dead', 'backlog', 'ended', 'unknown']),
  gaveUp: described(boolean, 'true when the search reached its time limit, so that `state` is not certain'),
  queue: orNull(text),
  class: orNull(text),
  args: orNull(anyList),
  tags: list(text),
  createdAt: orNull(time),
  enqueuedAt: orNull(time),
  failedAt: orNull(time),
  retryCount: orNull(count),
  errorClass: orNull(text),
  errorMessage: orNull(text),
  job: described(orNull(JobDetail), 'its key is valid where `state` says the job is; empty for a running job'),
  task: taskRow,
  event: orNull(TaskEvent),
  result: described(v.unknown(), 'the result of its handler, if it is kept; else null'),
  failure: described(orNull(v.looseObject({ message: text })), 'why the job failed for good, if it is kept'),
})
export const JobCancelled = object({ jid: text, outcome: oneOf(['removed', 'signalled', 'requested']) })

export const Running = object({
  ...listed,
  process: described(text, 'identity of the process'),
  thread: described(text, 'unique among the running jobs of a process'),
  startedAt: time,
  progress: orNull(object({ done: number, total: optional(number), note: optional(text) })),
})
export const RunningList = pageOf(Running)

// Job sets -----------------------------------------------------------------------------------------------------

export const ErrorGroups = object({
  items: list(
    object({
      class: orNull(text),
      message: described(text, 'without numbers of more than five digits, ids, times and addresses'),
      count,
      messages: described(count, 'the number of different messages; counting stops at 1,000'),
      jobs: described(list(text), 'classes of jobs that failed with it'),
      since: described(orNull(time), 'when the first job of the group failed'),
      filter: described(text, 'the value of the parameter `cause` that finds exactly these jobs'),
    }),
  ),
  matching: described(count, 'how many of the scanned jobs match, with an error or without'),
  scanned: count,
  complete: described(boolean, 'true when all jobs were scanned'),
})

const selected = must(
  v.pipe(list(object({ jid: text, key: optional(text) })), v.maxLength(MOST_JOBS)),
  `a list of at most ${MOST_JOBS} { jid, key } from the entries of a list (use …/all/… for more)`,
)
const later = {
  at: optional(must(when, 'a time in ISO 8601, or seconds since the epoch')),
  in: optional(must(amount, 'a number of seconds')),
}
const oneTime = ({ at, in: wait }: { at?: unknown; in?: unknown }) => (at === undefined) !== (wait === undefined)
const ONE_TIME = 'give either `at`, or `in` (seconds from now)'

export const Selected = object({ jobs: selected })
export const SelectedForLater = rule(object({ jobs: selected, ...later }), oneTime, ONE_TIME)
export const ForLater = rule(object(later), oneTime, ONE_TIME)

const filled = optional(must(v.pipe(text, v.nonEmpty()), 'a non-empty string: leave it out to select all'))
export const JobFilter = object({ search: filled, class: filled, error: filled, cause: filled, queue: filled })

export const Acted = object({
  done: count,
  refused: described(count, 'jobs that were gone, or could not be moved'),
  error: described(optional(text), 'why the first job was refused'),
  moved: described(
    optional(list(object({ jid: short, key: text, was: orNull(number) }))),
    'jobs that were moved to another time: their new keys, and when they were due before, in seconds',
  ),
})
export const Sweeping = object({ done: count, refused: count, error: optional(text), ended: boolean })

// Queues, processes and cron entries ---------------------------------------------------------------------------

export const Queue = object({
  name: text,
  size: count,
  backlog: described(count, 'rows in the backlogs of tasks for this queue'),
  latency: described(amount, 'seconds that its oldest job has waited'),
  paused: boolean,
  ignoredBy: described(list(text), 'identities of Sidekiq processes that serve it: they ignore a pause'),
  slots: described(count, 'the most jobs that its processes run at the same time'),
  servedBy: described(list(text), 'identities of the processes that serve it'),
})
export const QueueList = pageOf(Queue)
export const Cleared = object({ done: count })

export const Process = object({
  identity: text,
  hostname: text,
  pid: count,
  tag: text,
  labels: list(text),
  queues: list(text),
  definedQueues: described(list(text), 'the queues that the jobs of its app name'),
  version: text,
  ours: described(boolean, 'true for a process of Highkiq, false for one of Sidekiq'),
  embedded: described(boolean, 'runs inside another program, and ignores signals'),
  busy: count,
  concurrency: described(count, 'the most jobs and ordered batches at the same time'),
  orderedConcurrency: described(count, 'the part of it for ordered batches'),
  rss: described(count, 'kB'),
  quiet: boolean,
  leader: boolean,
  startedAt: time,
  beat: described(time, 'time of its last heartbeat'),
  state: oneOf(['live', 'quiet', 'silent']),
})
export const ProcessList = pageOf(Process)

export const CronEntry = object({
  name: text,
  spec: text,
  timeZone: text,
  job: text,
  queue: orNull(text),
  args: described(orNull(anyList), 'redacted; null when a function of the app makes them'),
  missed: oneOf(['skip', 'once', 'all']),
  overlap: oneOf(['allow', 'skip']),
  paused: boolean,
  defined: described(boolean, 'whether a live process defines the entry; without one it does not run'),
  lastAt: orNull(time),
  lastJid: orNull(text),
  nextAt: orNull(time),
  next: described(list(time), 'the next five ticks, ignoring a pause'),
})
export const CronEntryList = pageOf(CronEntry)
