/** Schemas of jobs: found, running, in queues and in job sets. */

import * as v from 'valibot'
import * as s from './building-blocks.ts'
import { TaskEvent } from './tasks.ts'

// Lists and details --------------------------------------------------------------------------------------------

const taskRow = s.orNull(s.object({ id: s.text, index: s.count }))

const listed = {
  jid: s.short,
  class: s.described(s.short, 'the class that people know: for an Active Job the wrapped class'),
  queue: s.short,
  priority: s.described(s.count, '0 to 9, in its queue'),
  preview: s.described(s.short, 'the beginning of its arguments as JSON, redacted'),
  tags: s.list(s.short),
  createdAt: s.orNull(s.time),
  enqueuedAt: s.orNull(s.time),
}
const summary = {
  ...listed,
  bytes: s.described(s.count, 'size of the whole payload'),
  key: s.described(s.text, 'identifies exactly this entry in requests'),
}
const failure = {
  error: s.orNull(s.object({ class: s.orNull(s.short), message: s.text })),
  failures: s.described(s.count, 'runs that failed'),
  retries: s.described(s.orNull(s.count), 'the most retries; null when the payload does not say'),
  failedAt: s.orNull(s.time),
  retriedAt: s.orNull(s.time),
  task: taskRow,
}

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
    s.orNull(s.object({ id: s.text, kind: s.limitKind, name: s.text, position: s.positive, key: s.orNull(s.text) })),
    'the limit for which it waits',
  ),
  locks: s.described(s.list(s.text), 'the keys of the locks that it has as a unique job'),
  hidden: s.described(s.boolean, "true: `redact` hides parts of its arguments, so they can't be edited"),
  backtrace: s.described(s.orNull(s.list(s.text)), 'its frames, outermost last; null when none is kept'),
  messages: s.described(
    s.list(s.message),
    'what ended attempts added with `ctx.message`; the messages of a row are in its event',
  ),
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

const refusedJob = {
  error: s.described(s.optional(s.text), 'why the first job was refused'),
  code: s.described(s.optional(s.text), 'the code of that error, if it is one of Highkiq'),
  details: s.described(s.optional(s.anyObject), 'the details of that error'),
}
export const Acted = s.object({
  done: s.count,
  refused: s.described(s.count, 'jobs that were gone, or could not be moved'),
  ...refusedJob,
  problem: s.described(
    s.optional(s.oneOf(['overtaken', 'gone'])),
    'why, for programs: another request was faster, or the job is not here any more',
  ),
  moved: s.described(
    s.optional(s.list(s.object({ jid: s.short, key: s.text, was: s.orNull(s.number) }))),
    'jobs that were moved to another time: their new keys, and when they were due before, in seconds',
  ),
})
export const Sweeping = s.object({ done: s.count, refused: s.count, ...refusedJob, ended: s.boolean })
