/** Routes of stats: now, live, and over time. */

import { stringifyJson } from '../../job/json.ts'
import { EventStream, STREAM_HEADERS } from '../live/event-stream.ts'
import type { LiveStats } from '../live/live-stats.ts'
import { STEP_MS } from '../live/stats-history.ts'
import { RANGES } from '../live/throughput.ts'
import { errorBody, json } from '../server/answer.ts'
import { integer, oneOf } from '../server/parameter.ts'
import { type Route, route } from '../server/route.ts'
import { count, list, number, object, orNull, ref, type Schema, text, time } from '../server/schema.ts'

/** The store keeps five years. */
const MOST_DAYS = 1825

export const STATS_ROUTES: Route[] = [
  route({
    method: 'GET',
    path: '/api/v1/stats',
    summary: 'Returns the stats of `hq.stats()`, at most two seconds old',
    answers: { 200: { description: 'The stats', content: { 'application/json': 'Stats' } } },
    run: async ({ server }) => json(await server.liveStats.stats()),
  }),
  route({
    method: 'GET',
    path: '/api/v1/live-stats',
    summary: 'Returns the live stats of the dashboard, at most two seconds old: figures, rates and alerts',
    answers: { 200: { description: 'The live stats', content: { 'application/json': 'LiveStats' } } },
    run: async ({ server }) => json(await server.liveStats.latest()),
  }),
  route({
    method: 'GET',
    path: '/api/v1/live',
    summary: 'Streams the live stats: `stats` at most every 2 s, `trouble` while the store does not answer',
    headers: { 'last-event-id': 'the last event is not repeated' },
    answers: {
      200: {
        description: 'Each `stats` carries LiveStats, each `trouble` a Problem',
        content: { 'text/event-stream': { type: 'string' } },
      },
    },
    run({ server, request }) {
      const leave = server.streams.enter()
      let known = request.headers.get('last-event-id') ?? ''
      const stream = new EventStream<LiveStats | { trouble: unknown }>({
        unreadSeconds: server.limits.unreadSeconds,
        onEnd: leave,
        subscribe(offer) {
          const listener = { onStats: offer, onError: (thrown: unknown) => offer({ trouble: thrown }) }
          server.liveStats.latest().then(listener.onStats, listener.onError)
          return server.liveStats.listen(listener)
        },
        format(news) {
          if ('trouble' in news) {
            return { text: `event: trouble\ndata: ${stringifyJson(errorBody(news.trouble))}\n\n`, isLast: false }
          }
          const name = news.at.toISOString()
          if (name === known) return { text: '', isLast: false }
          known = name
          return { text: `id: ${name}\nevent: stats\ndata: ${stringifyJson(news)}\n\n`, isLast: false }
        },
      })
      return new Response(stream.body, { headers: STREAM_HEADERS })
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/history',
    summary: 'Returns the finished and failed runs of each UTC day, newest first',
    query: { days: integer(1, MOST_DAYS, 30, 'number of days, including today') },
    answers: { 200: { description: 'Days', content: { 'application/json': 'DayList' } } },
    run: async ({ hq, query }) => json({ items: await hq.history(query.days), next: null }),
  }),
  route({
    method: 'GET',
    path: '/api/v1/throughput',
    summary: 'Returns the finished and failed runs, step by step, complete steps only',
    query: { range: oneOf(RANGES, 'how far back; default 1h') },
    answers: { 200: { description: 'Oldest first', content: { 'application/json': 'Throughput' } } },
    run: async ({ server, query }) => json(await server.throughputs.of(query.range ?? '1h')),
  }),
  route({
    method: 'GET',
    path: '/api/v1/gauges',
    summary:
      'Returns the samples that this server took every ten seconds since it was first asked, for one hour at most',
    answers: { 200: { description: 'Oldest first', content: { 'application/json': 'Gauges' } } },
    async run({ server }) {
      await server.liveStats.latest()
      const points = server.liveStats.ring.points.map(({ at, ...point }) => ({ at: new Date(at), ...point }))
      return json({ step: STEP_MS / 1000, points })
    },
  }),
]

const alert = (kind: string, level: 'error' | 'failed', more: Record<string, Schema>): Schema =>
  object({ kind: { const: kind }, level: { const: level }, ...more })
const seconds = { ...number, minimum: 0 }
const deploys = list(ref('Deploy'))

const figures = {
  processed: count,
  failed: count,
  busy: count,
  enqueued: count,
  backlog: { ...count, description: 'rows in the backlogs of tasks' },
  scheduled: count,
  retries: count,
  dead: count,
  processes: count,
  defaultLatency: seconds,
}
const ordered = object({ length: count, morgueLength: count, lag: seconds })

export const STATS_SCHEMAS: Record<string, Schema> = {
  LiveStats: object({
    at: time,
    roundTrip: { ...number, minimum: 0, description: 'milliseconds that the store took to answer' },
    stats: object({
      ...figures,
      concurrency: {
        ...count,
        description: 'the most jobs and ordered batches that all processes run at the same time',
      },
      orderedConcurrency: { ...count, description: 'the part of it for ordered batches' },
      ordered: object({ total: ordered }),
    }),
    finishedPerSecond: { ...number, minimum: 0, description: 'over the last 10 s, or the part of it that is known' },
    failedPerSecond: { ...number, minimum: 0 },
    alerts: { ...list(ref('Alert')), description: 'sorted by severity' },
    tasks: { ...count, description: 'running tasks' },
    orderedQueues: count,
    crons: count,
    queues: count,
  }),
  Stats: object({
    ...figures,
    ordered: object({ total: ordered, queues: { type: 'object', additionalProperties: ordered } }),
  }),
  Alert: {
    oneOf: [
      alert('retries-share-error', 'error', {
        error: { ...text, description: 'without numbers of more than five digits, ids, times and addresses' },
        filter: { ...text, description: 'the value of the parameter `cause` of /retries that finds them' },
        class: text,
        count: { ...count, description: 'an estimate when there are very many retries' },
        since: time,
      }),
      alert('process-silent', 'error', { identity: text, beat: time, busy: count, returnsIn: seconds }),
      alert('queue-grows', 'failed', { queue: text, perMinute: number, minutes: count, latency: seconds }),
      alert('queue-unserved', 'error', { queue: text, size: count }),
      alert('queue-without-worker', 'failed', { queue: text }),
      alert('task-stands-still', 'failed', { task: text, name: text, minutes: count }),
      alert('task-paused', 'failed', { task: text, name: text, reason: orNull(text) }),
      alert('ordered-silent', 'failed', { queue: text, shard: count, lag: seconds }),
      alert('no-process', 'error', { waiting: count }),
    ],
  },
  Day: object({ date: { type: 'string', format: 'date' }, processed: count, failed: count }),
  DayList: object({ items: list(ref('Day')), next: { type: 'null' } }),
  Deploy: object({ at: time, label: text }),
  Throughput: object({
    from: time,
    to: time,
    step: { ...count, description: 'seconds from point to point' },
    points: list(object({ at: time, finished: { ...number, minimum: 0 }, failed: { ...number, minimum: 0 } })),
    deploys,
  }),
  Gauges: object({
    step: count,
    points: list(
      object({
        at: time,
        finished: count,
        failed: count,
        busy: count,
        enqueued: count,
        retries: count,
        dead: count,
      }),
    ),
  }),
}
