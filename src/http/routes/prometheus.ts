/** The figures as Prometheus reads them: its text format, version 0.0.4. */

import { VERSION } from '../../index.ts'
import { type Route, route } from '../server/route.ts'

const TYPE = 'text/plain; version=0.0.4; charset=utf-8'

export type Labels = Record<string, string>

export interface Metric {
  name: string
  type: 'counter' | 'gauge'
  help: string
  values: [labels: Labels, value: number][]
}

export const PROMETHEUS_ROUTE: Route = route({
  method: 'GET',
  path: '/metrics',
  summary: 'The figures, for Prometheus',
  answers: { 200: { description: 'Its text format', content: { 'text/plain': { type: 'string' } } } },
  async run({ hq, server, request, base }) {
    // The dashboard has a page of this name, and browsers ask for it when it is loaded again.
    if (request.headers.get('accept')?.includes('text/html')) return server.dashboard.page(base)
    const [{ stats, tasks, alerts }, queues, { ordered }, jobs] = await Promise.all([
      server.liveStats.latest(),
      hq.queueSummaries(),
      hq.stats(),
      server.jobCounters.count(),
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
      const values = Object.entries(ordered.queues).map(([queue, figures]): [Labels, number] => [
        { queue },
        of(figures),
      ])
      return { name, type: 'gauge', help, values }
    }
    const ofJobs = (name: string, help: string, of: 'processed' | 'failed' | 'seconds'): Metric => {
      return { name, type: 'counter', help, values: [...jobs].map(([job, counts]) => [{ job }, counts[of]]) }
    }
    const all: Metric[] = [
      { ...one('highkiq_info', 'What is running', 1), values: [[{ version: VERSION, store: hq.store.kind }, 1]] },
      one('highkiq_processed_total', 'Jobs that ended, failed runs included', stats.processed, 'counter'),
      one('highkiq_failed_total', 'Runs that failed', stats.failed, 'counter'),
      one('highkiq_busy', 'Jobs that run now', stats.busy),
      one('highkiq_enqueued', 'Jobs in queues', stats.enqueued),
      one('highkiq_backlog', 'Rows that wait inside their tasks', stats.backlog),
      one('highkiq_scheduled', 'Jobs that run later', stats.scheduled),
      one('highkiq_retries', 'Jobs that failed and will run again', stats.retries),
      one('highkiq_dead', 'Jobs that will not run again by themselves', stats.dead),
      one('highkiq_processes', 'Processes that work', stats.processes),
      one('highkiq_concurrency', 'Jobs that all processes can run at a time', stats.concurrency),
      one('highkiq_tasks_running', 'Tracked tasks that run', tasks),
      ofQueues('highkiq_queue_size', 'Jobs in the queue', ({ size }) => size),
      ofQueues('highkiq_queue_latency_seconds', 'How long the next job has waited', ({ latency }) => latency),
      ofQueues('highkiq_queue_paused', 'Whether nothing is taken from it', ({ paused }) => (paused ? 1 : 0)),
      ofOrdered('highkiq_ordered_waiting', 'Ids that wait', ({ length }) => length),
      ofOrdered('highkiq_ordered_morgue', 'Ids that failed for good', ({ morgueLength }) => morgueLength),
      ofOrdered('highkiq_ordered_lag_seconds', 'How long the first due id has waited', ({ lag }) => lag),
      ofJobs('highkiq_job_processed_total', 'Runs that ended, since this server was asked first', 'processed'),
      ofJobs('highkiq_job_failed_total', 'Runs that failed, since this server was asked first', 'failed'),
      ofJobs('highkiq_job_seconds_total', 'Seconds that successful runs took, since then', 'seconds'),
      {
        name: 'highkiq_alerts',
        type: 'gauge',
        help: 'Alerts of the dashboard, by kind',
        values: [...causes].map(([kind, n]) => [{ kind }, n]),
      },
    ]
    return new Response(all.map(textOf).join(''), { headers: { 'content-type': TYPE } })
  },
})

/** '' for a metric without values. */
export function textOf({ name, type, help, values }: Metric): string {
  if (values.length === 0) return ''
  const lines = values.map(([labels, value]) => `${name}${labelsOf(labels)} ${value}\n`)
  return `# HELP ${name} ${help.replace(/[\\\n]/g, escaped)}\n# TYPE ${name} ${type}\n${lines.join('')}`
}

function labelsOf(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value.replace(/[\\\n"]/g, escaped)}"`)
  return pairs.length > 0 ? `{${pairs.join(',')}}` : ''
}

function escaped(character: string): string {
  return character === '\n' ? '\\n' : `\\${character}`
}
