/** Schemas of the app and of its figures: now, live, and over time. */

import * as v from 'valibot'
import {
  amount,
  boolean,
  count,
  described,
  list,
  MOST_PERCENTILES,
  number,
  object,
  oneOf,
  orNull,
  text,
  time,
} from './building-blocks.ts'

export const Health = object({ status: v.literal('ok') })

export const About = object({
  version: text,
  app: described(text, 'the tag of the workers; without a worker the name of the folder of the app'),
  environment: text,
  store: object({ kind: oneOf(['sqlite', 'redis']), title: text }),
  readOnly: boolean,
  canLogOut: described(boolean, 'the client logged in with a cookie: POST /logout deletes it'),
  jobs: described(list(object({ name: text, queue: text })), 'the jobs that this process defines'),
})

const alert = <Kind extends string, Level extends string, More extends v.ObjectEntries>(
  kind: Kind,
  level: Level,
  more: More,
) => object({ kind: v.literal(kind), level: v.literal(level), ...more })

/** A problem that needs attention. The dashboard words it. */
export const Alert = v.variant('kind', [
  alert('retries-share-error', 'error', {
    error: described(text, 'without numbers of more than five digits, ids, times and addresses'),
    filter: described(text, 'the value of the parameter `cause` of /retries that finds them'),
    class: text,
    count: described(count, 'an estimate when there are very many retries'),
    since: time,
  }),
  alert('process-silent', 'error', { identity: text, beat: time, busy: count, returnsIn: amount }),
  alert('queue-grows', 'failed', { queue: text, perMinute: number, minutes: count, latency: amount }),
  alert('queue-unserved', 'error', { queue: text, size: count }),
  alert('queue-without-worker', 'failed', { queue: text }),
  alert('task-stands-still', 'failed', { task: text, name: text, minutes: count }),
  alert('task-paused', 'failed', { task: text, name: text, reason: orNull(text) }),
  alert('ordered-silent', 'failed', { queue: text, shard: count, lag: amount }),
  alert('no-process', 'error', { waiting: count }),
])

const figures = {
  processed: count,
  failed: count,
  busy: count,
  enqueued: count,
  backlog: described(count, 'rows in the backlogs of tasks'),
  scheduled: count,
  retries: count,
  dead: count,
  processes: count,
  defaultLatency: amount,
}
const ordered = object({ length: count, morgueLength: count, lag: amount })

export const Stats = object({
  ...figures,
  ordered: object({ total: ordered, queues: v.record(v.string(), ordered) }),
})

export const LiveStats = object({
  at: time,
  roundTrip: described(amount, 'milliseconds that the store took to answer'),
  stats: object({
    ...figures,
    concurrency: described(count, 'the most jobs and ordered batches that all processes run at the same time'),
    orderedConcurrency: described(count, 'the part of it for ordered batches'),
    ordered: object({ total: ordered }),
  }),
  finishedPerSecond: described(amount, 'over the last 10 s, or the part of it that is known'),
  failedPerSecond: amount,
  alerts: described(list(Alert), 'sorted by severity'),
  tasks: described(count, 'running tasks'),
  orderedQueues: count,
  crons: count,
  queues: count,
})

export const Day = object({ date: v.pipe(v.string(), v.isoDate()), processed: count, failed: count })
export const DayList = object({ items: list(Day), next: v.null() })

export const Deploy = object({ at: time, label: text })

export const Throughput = object({
  from: time,
  to: time,
  step: described(count, 'seconds from point to point'),
  points: list(object({ at: time, finished: amount, failed: amount })),
  deploys: list(Deploy),
})

export const Gauges = object({
  step: count,
  points: list(
    object({ at: time, finished: count, failed: count, busy: count, enqueued: count, retries: count, dead: count }),
  ),
})

const percentile = described(orNull(amount), 'seconds; null without a successful run')
const step = { at: time, processed: count, failed: count, seconds: amount }
const runs = {
  ...{ name: text, processed: count, failed: count, success: count, seconds: amount, average: amount },
  ...{ p50: percentile, p95: percentile, p99: percentile },
}
const window = { from: time, to: time, deploys: list(Deploy) }

export const TopJobs = object({
  ...window,
  step: described(count, 'seconds from step to step'),
  jobs: described(
    list(object({ ...runs, steps: list(object(step)) })),
    `sorted by total time; percentiles for the first ${MOST_PERCENTILES}, over the last 8 hours at most`,
  ),
})

export const JobMetrics = object({
  ...runs,
  ...window,
  histogram: list(object({ label: text, count })),
  minutes: list(object({ ...step, histogram: list(count) })),
})
