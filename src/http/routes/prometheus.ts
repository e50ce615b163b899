/** The metrics in the text format of Prometheus, version 0.0.4. */

import { VERSION } from '../../index.ts'
import { LIMITS } from '../../metrics/collector.ts'
import type { Times } from '../live/job-counters.ts'
import { get, type Route } from '../server/route.ts'

const TYPE = 'text/plain; version=0.0.4; charset=utf-8'

export type Labels = Record<string, string>

export interface Metric {
  name: string
  type: 'counter' | 'gauge'
  help: string
  values: [labels: Labels, value: number][]
}

export const PROMETHEUS_ROUTE: Route = get('/metrics', {
  id: 'getPrometheusMetrics',
  summary: 'Returns the metrics for Prometheus',
  isAlsoPage: true,
  answers: { 200: { description: 'The text format of Prometheus', content: { 'text/plain': { type: 'string' } } } },
  async run({ hq, server }) {
    const [{ stats, tasks, alerts }, queues, { ordered }, { jobs, runs, waits }] = await Promise.all([
      server.liveStats.latest(),
      hq.queueSummaries(),
      hq.stats(),
      server.jobCounters.read(),
    ])
    const causes = new Map<string, number>()
    for (const { kind } of alerts) causes.set(kind, (causes.get(kind) ?? 0) + 1)
    const one = (name: string, help: string, value: number, type: Metric['type'] = 'gauge'): Metric => {
      return { name, type, help, values: [[{}, value]] }
    }
    const ofQueues = (name: string, help: string, of: (queue: (typeof queues)[number]) => number): Metric => {
      return { name, type: 'gauge', help, values: queues.map((queue) => [{ queue: queue.name }, of(queue)]) }
    }
    const ofOrdered = (name: string, help: string, of: (queue: (typeof ordered)['total']) => number): Metric => {
      const all = Object.entries(ordered.queues)
      return { name, type: 'gauge', help, values: all.map(([queue, figures]) => [{ queue }, of(figures)]) }
    }
    const ofJobs = (name: string, help: string, of: 'processed' | 'failed' | 'seconds'): Metric => {
      return { name, type: 'counter', help, values: [...jobs].map(([job, counts]) => [{ class: job }, counts[of]]) }
    }
    const all: Metric[] = [
      { ...one('highkiq_info', 'Version and store', 1), values: [[{ version: VERSION, store: hq.store.kind }, 1]] },
      one('highkiq_processed_total', 'Jobs processed, including failed runs', stats.processed, 'counter'),
      one('highkiq_failed_total', 'Runs that failed', stats.failed, 'counter'),
      one('highkiq_busy', 'Running jobs', stats.busy),
      one('highkiq_enqueued', 'Jobs in queues', stats.enqueued),
      one('highkiq_backlog', 'Rows in the backlogs of tasks', stats.backlog),
      one('highkiq_scheduled', 'Scheduled jobs', stats.scheduled),
      one('highkiq_retries', 'Jobs in the retry set', stats.retries),
      one('highkiq_dead', 'Jobs in the dead set', stats.dead),
      one('highkiq_processes', 'Worker processes', stats.processes),
      one('highkiq_concurrency', 'Jobs that all processes can run at the same time', stats.concurrency),
      one('highkiq_tasks_running', 'Running tasks', tasks),
      ofQueues('highkiq_queue_size', 'Jobs in the queue', ({ size }) => size),
      ofQueues('highkiq_queue_latency_seconds', 'Seconds that the oldest job has waited', ({ latency }) => latency),
      ofQueues('highkiq_queue_paused', '1 when the queue is paused', ({ paused }) => (paused ? 1 : 0)),
      ofOrdered('highkiq_ordered_waiting', 'Waiting ids', ({ length }) => length),
      ofOrdered('highkiq_ordered_morgue', 'Ids in the morgue', ({ morgueLength }) => morgueLength),
      ofOrdered('highkiq_ordered_lag_seconds', 'Seconds that the first due id has waited', ({ lag }) => lag),
      ofJobs('highkiq_job_processed_total', 'Runs since the first scrape of this server', 'processed'),
      ofJobs('highkiq_job_failed_total', 'Failed runs since the first scrape of this server', 'failed'),
      ofJobs(
        'highkiq_job_seconds_total',
        'Seconds of successful runs since the first scrape of this server',
        'seconds',
      ),
      {
        name: 'highkiq_alerts',
        type: 'gauge',
        help: 'Alerts of the dashboard, by kind',
        values: [...causes].map(([kind, n]) => [{ kind }, n]),
      },
    ]
    const histograms = [
      histogramOf('highkiq_job_run_seconds', 'Successful runs since the first scrape of this server', 'class', runs),
      histogramOf(
        'highkiq_queue_wait_seconds',
        'Waits in the queue before a start, since the first scrape',
        'queue',
        waits,
      ),
    ]
    return new Response(all.map(textOf).join('') + histograms.join(''), { headers: { 'content-type': TYPE } })
  },
})

/** '' for a metric without values. */
export function textOf({ name, type, help, values }: Metric): string {
  if (values.length === 0) return ''
  const lines = values.map(([labels, value]) => `${name}${labelsOf(labels)} ${value}\n`)
  return `# HELP ${name} ${help.replace(/[\\\n]/g, escaped)}\n# TYPE ${name} ${type}\n${lines.join('')}`
}

/** Returns a histogram with a series for each name, whose counts are those up to each limit. */
function histogramOf(name: string, help: string, label: string, all: ReadonlyMap<string, Times>): string {
  const lines: string[] = []
  for (const [value, { counts, seconds }] of all) {
    let upTo = 0
    for (const [bucket, count] of counts.entries()) {
      const limit = LIMITS[bucket]
      upTo += count
      const le = limit === undefined ? '+Inf' : String(limit / 1000)
      lines.push(`${name}_bucket${labelsOf({ [label]: value, le })} ${upTo}\n`)
    }
    const labels = labelsOf({ [label]: value })
    lines.push(`${name}_sum${labels} ${seconds}\n`, `${name}_count${labels} ${upTo}\n`)
  }
  return lines.length === 0 ? '' : `# HELP ${name} ${help}\n# TYPE ${name} histogram\n${lines.join('')}`
}

function labelsOf(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value.replace(/[\\\n"]/g, escaped)}"`)
  return pairs.length > 0 ? `{${pairs.join(',')}}` : ''
}

function escaped(character: string): string {
  return character === '\n' ? '\\n' : `\\${character}`
}
