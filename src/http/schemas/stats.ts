/** Schemas of the app and of its figures: now, live, and over time. */

import * as v from 'valibot'
import { SEVERITIES } from '../../store/contract.ts'
import * as s from './building-blocks.ts'

export const Health = s.object({ status: v.literal('ok') })

export const About = s.object({
  version: s.text,
  app: s.described(s.text, 'the tag of the workers; without a worker the name of the folder of the app'),
  environment: s.text,
  store: s.object({ kind: s.oneOf(['sqlite', 'redis', 'postgres']), title: s.text }),
  readOnly: s.boolean,
  hidesValues: s.described(s.boolean, 'the server has rules of redact'),
  canLogOut: s.described(s.boolean, 'the client logged in with a cookie: POST /logout deletes it'),
  jobs: s.described(s.list(s.object({ name: s.text, queue: s.text })), 'the jobs that this process defines'),
})

const alert = <Kind extends string, Level extends string, More extends v.ObjectEntries>(
  kind: Kind,
  level: Level,
  more: More,
) => s.object({ kind: v.literal(kind), level: v.literal(level), ...more })

/** A problem that needs attention. The dashboard words it. */
export const Alert = v.variant('kind', [
  alert('retries-share-error', 'error', {
    error: s.described(s.text, 'without numbers of more than five digits, ids, times and addresses'),
    filter: s.described(s.text, 'the value of the parameter `cause` of /retries that finds them'),
    class: s.text,
    count: s.described(s.count, 'an estimate when there are very many retries'),
    since: s.time,
  }),
  alert('process-silent', 'error', { identity: s.text, beat: s.time, busy: s.count, returnsIn: s.amount }),
  alert('queue-grows', 'failed', { queue: s.text, perMinute: s.number, minutes: s.count, latency: s.amount }),
  alert('queue-unserved', 'error', { queue: s.text, size: s.count }),
  alert('queue-without-worker', 'failed', { queue: s.text }),
  alert('task-stands-still', 'failed', { task: s.text, name: s.text, minutes: s.count }),
  alert('task-paused', 'failed', {
    task: s.text,
    name: s.text,
    reason: s.orNull(s.text),
    cause: s.orNull(s.object({ code: s.text, params: s.anyObject })),
  }),
  alert('ordered-silent', 'failed', { queue: s.text, shard: s.count, lag: s.amount }),
  alert('no-process', 'error', { waiting: s.count }),
  alert('shard-unreachable', 'error', { store: s.described(s.text, 'the URL of the shard') }),
])

const figures = {
  processed: s.count,
  failed: s.count,
  busy: s.count,
  enqueued: s.count,
  backlog: s.described(s.count, 'rows in the backlogs of tasks'),
  limited: s.described(s.count, 'jobs that wait for room in their limits'),
  scheduled: s.count,
  retries: s.count,
  dead: s.count,
  processes: s.count,
  defaultLatency: s.amount,
  unreachableShards: s.optional(
    s.described(s.list(s.text), "the URLs of shards that can't be reached: the figures leave out what they store"),
  ),
}
const ordered = s.object({ length: s.count, morgueLength: s.count, lag: s.amount })

export const Stats = s.object({
  ...figures,
  ordered: s.object({ total: ordered, queues: v.record(v.string(), ordered) }),
})

export const LiveStats = s.object({
  at: s.time,
  roundTrip: s.described(s.amount, 'milliseconds that the store took to answer'),
  stats: s.object({
    ...figures,
    concurrency: s.described(s.count, 'the most jobs and ordered batches that all processes run at the same time'),
    orderedConcurrency: s.described(s.count, 'the part of it for ordered batches'),
    ordered: s.object({ total: ordered }),
  }),
  finishedPerSecond: s.described(s.amount, 'over the last 10 s, or the part of it that is known'),
  failedPerSecond: s.amount,
  alerts: s.described(s.list(Alert), 'sorted by severity'),
  tasks: s.described(s.count, 'running tasks'),
  orderedQueues: s.count,
  crons: s.count,
  queues: s.count,
})

export const Diagnosis = s.object({
  at: s.described(s.time, 'when the examination began'),
  status: s.described(s.oneOf(SEVERITIES), 'the worst severity'),
  store: s.described(s.text, 'its URL, without secrets'),
  findings: s.list(
    s.object({
      check: s.described(s.text, 'the name of the check'),
      severity: s.described(s.oneOf(SEVERITIES), 'warning: jobs are safe now, but may not be later'),
      code: s.optional(
        s.described(s.text, "names what was found; a store that is not Highkiq's own may leave it out: `queue-paused`"),
      ),
      params: s.optional(
        s.described(v.record(v.string(), v.union([s.text, s.number])), 'the values in `text` and `advice`'),
      ),
      text: s.described(s.text, 'in English'),
      advice: s.optional(s.described(s.text, 'what to do; missing when the severity is ok')),
    }),
  ),
})

export const Day = s.object({ date: v.pipe(v.string(), v.isoDate()), processed: s.count, failed: s.count })
export const DayList = s.object({ items: s.list(Day), next: v.null() })

export const Deploy = s.object({ at: s.time, label: s.text })
export const DeployList = s.pageOf(Deploy)

export const Throughput = s.object({
  from: s.time,
  to: s.time,
  step: s.described(s.count, 'seconds from point to point'),
  points: s.list(s.object({ at: s.time, finished: s.amount, failed: s.amount })),
  deploys: s.list(Deploy),
})

export const Gauges = s.object({
  step: s.described(s.count, 'seconds from point to point; there is none for a time without a worker'),
  points: s.list(
    s.object({
      at: s.time,
      takenAt: s.described(s.time, 'when the figures were read: within the step that begins at `at`'),
      processed: s.described(s.count, 'in total, as `failed`'),
      failed: s.count,
      busy: s.count,
      enqueued: s.count,
      backlog: s.count,
      retries: s.count,
      dead: s.count,
    }),
  ),
})

const percentile = s.described(s.orNull(s.amount), 'seconds; null without a successful run')
const step = { at: s.time, processed: s.count, failed: s.count, seconds: s.amount }
const figuresOfRuns = {
  processed: s.count,
  failed: s.count,
  success: s.count,
  seconds: s.amount,
  average: s.amount,
  p50: percentile,
  p95: percentile,
  p99: percentile,
}
const runs = { name: s.text, ...figuresOfRuns }
const window = { from: s.time, to: s.time, deploys: s.list(Deploy) }

export const TopJobs = s.object({
  ...window,
  step: s.described(s.count, 'seconds from step to step'),
  jobs: s.described(
    s.list(s.object({ ...runs, steps: s.list(s.object(step)) })),
    `in the order of \`by\`; percentiles for the first ${s.MOST_PERCENTILES}, or by p95 for all`,
  ),
})

const wait = s.described(s.orNull(s.amount), 'seconds; null without a run')
const waits = { runs: s.described(s.count, 'runs that ended'), p50: wait, p95: wait, p99: wait }

export const QueueWaits = s.object({
  from: s.time,
  to: s.time,
  ...waits,
  minutes: s.described(s.list(s.object({ at: s.time, ...waits })), 'the minutes in which a run ended, oldest first'),
})

export const QueueSizes = s.object({
  from: s.time,
  to: s.time,
  step: s.described(s.count, 'seconds from step to step'),
  points: s.described(
    s.list(s.object({ at: s.time, size: s.count })),
    'the steps with a known size, oldest first: that in the first moment of a minute, or the largest in ten minutes',
  ),
})

export const JobMetrics = s.object({
  ...runs,
  ...window,
  step: s.described(s.count, 'seconds from step to step'),
  histogram: s.list(s.object({ label: s.text, count: s.count })),
  steps: s.list(s.object({ ...step, p95: percentile, histogram: s.list(s.count) })),
})

const period = s.orNull(s.object({ from: s.time, to: s.time }))
const compared = s.object(figuresOfRuns)

export const DeployComparison = s.object({
  deploy: s.orNull(Deploy),
  before: s.described(period, 'from the deploy before on, if that was later'),
  after: s.described(period, 'up to now, or to the next deploy'),
  jobs: s.list(
    s.object({
      name: s.text,
      before: compared,
      after: compared,
      worse: s.described(s.list(s.oneOf(['fails', 'slower'])), 'empty: not worse, or too few runs to tell'),
    }),
  ),
})
