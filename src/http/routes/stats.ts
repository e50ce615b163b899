/** Routes of how all is: now, live, and over time. */

import { stringifyJson } from '../../job/json.ts'
import { errorBody, json } from '../answer.ts'
import { EventStream, STREAM_HEADERS } from '../event-stream.ts'
import { integer, oneOf } from '../parameter.ts'
import type { Pulse } from '../pulse/pulse.ts'
import { STEP_MS } from '../pulse/ring.ts'
import { RANGES } from '../pulse/throughput.ts'
import { type Route, route } from '../route.ts'
import { count, list, number, object, orNull, ref, type Schema, text, time } from '../schema.ts'

/** The store keeps five years. */
const MOST_DAYS = 1825

export const STATS_ROUTES: Route[] = [
  route({
    method: 'GET',
    path: '/api/v1/stats',
    summary: 'The figures of `hq.stats()`, at most two seconds old',
    answers: { 200: { description: 'In figures', content: { 'application/json': 'Stats' } } },
    run: async ({ site }) => json(await site.pulses.stats()),
  }),
  route({
    method: 'GET',
    path: '/api/v1/pulse',
    summary: 'The live stats of the dashboard, at most two seconds old: figures, rates and alerts',
    answers: { 200: { description: 'In figures', content: { 'application/json': 'Pulse' } } },
    run: async ({ site }) => json(await site.pulses.latest()),
  }),
  route({
    method: 'GET',
    path: '/api/v1/live',
    summary: 'The live stats as events: `pulse` at most every 2 s; `trouble` when the store does not answer',
    headers: { 'last-event-id': 'what was seen last is not told again' },
    answers: {
      200: {
        description: 'Events with a Pulse each; of `trouble` with a Problem',
        content: { 'text/event-stream': { type: 'string' } },
      },
    },
    run({ site, request }) {
      const leave = site.streams.enter()
      let known = request.headers.get('last-event-id') ?? ''
      const stream = new EventStream<Pulse | { trouble: unknown }>({
        unreadSeconds: site.limits.unreadSeconds,
        leave,
        begin(offer) {
          const listener = { hears: offer, fails: (thrown: unknown) => offer({ trouble: thrown }) }
          site.pulses.latest().then(listener.hears, listener.fails)
          return site.pulses.listen(listener)
        },
        told(news) {
          if ('trouble' in news) {
            return { text: `event: trouble\ndata: ${stringifyJson(errorBody(news.trouble))}\n\n`, isLast: false }
          }
          const name = news.at.toISOString()
          if (name === known) return { text: '', isLast: false }
          known = name
          return { text: `id: ${name}\nevent: pulse\ndata: ${stringifyJson(news)}\n\n`, isLast: false }
        },
      })
      return new Response(stream.body, { headers: STREAM_HEADERS })
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/history',
    summary: 'What ended of each UTC day, newest first',
    query: { days: integer(1, MOST_DAYS, 30, 'today and the days before') },
    answers: { 200: { description: 'Days', content: { 'application/json': 'DayList' } } },
    run: async ({ hq, query }) => json({ items: await hq.history(query.days), next: null }),
  }),
  route({
    method: 'GET',
    path: '/api/v1/throughput',
    summary: 'What ended, step by step; whole steps alone',
    query: { range: oneOf(RANGES, 'how far back; 1h if not said') },
    answers: { 200: { description: 'Oldest first', content: { 'application/json': 'Throughput' } } },
    run: async ({ site, query }) => json(await site.throughputs.of(query.range ?? '1h')),
  }),
  route({
    method: 'GET',
    path: '/api/v1/gauges',
    summary: 'What this server saw every ten seconds, since somebody looks, at most of the last hour',
    answers: { 200: { description: 'Oldest first', content: { 'application/json': 'Gauges' } } },
    async run({ site }) {
      await site.pulses.latest()
      const points = site.pulses.ring.points.map(({ at, ...point }) => ({ at: new Date(at), ...point }))
      return json({ step: STEP_MS / 1000, points })
    },
  }),
]

const attention = (kind: string, level: 'error' | 'failed', more: Record<string, Schema>): Schema =>
  object({ kind: { const: kind }, level: { const: level }, ...more })
const seconds = { ...number, minimum: 0 }
const deploys = list(ref('Deploy'))

const figures = {
  processed: count,
  failed: count,
  busy: count,
  enqueued: count,
  backlog: { ...count, description: 'rows that wait inside their tasks' },
  scheduled: count,
  retries: count,
  dead: count,
  processes: count,
  defaultLatency: seconds,
}
const ordered = object({ length: count, morgueLength: count, lag: seconds })

export const STATS_SCHEMAS: Record<string, Schema> = {
  Pulse: object({
    at: time,
    roundTrip: { ...number, minimum: 0, description: 'milliseconds that the store took to answer' },
    stats: object({
      ...figures,
      concurrency: { ...count, description: 'jobs and batches of ordered queues that all processes run at a time' },
      orderedConcurrency: { ...count, description: 'of these, batches of ordered queues' },
      ordered: object({ total: ordered }),
    }),
    finishedPerSecond: { ...number, minimum: 0, description: 'over the last 10 s, or what is known of them' },
    failedPerSecond: { ...number, minimum: 0 },
    attention: { ...list(ref('Attention')), description: 'the worst first' },
    tasks: { ...count, description: 'that run' },
    orderedQueues: count,
    crons: count,
    queues: count,
  }),
  Stats: object({
    ...figures,
    ordered: object({ total: ordered, queues: { type: 'object', additionalProperties: ordered } }),
  }),
  Attention: {
    oneOf: [
      attention('retries-share-error', 'error', {
        error: { ...text, description: 'numbers of more than five digits, ids, times and addresses are left out' },
        filter: { ...text, description: 'as the parameter `cause` of retries it finds them' },
        class: text,
        count: { ...count, description: 'about so many, where there are very many' },
        since: time,
      }),
      attention('process-silent', 'error', { identity: text, beat: time, busy: count, returnsIn: seconds }),
      attention('queue-grows', 'failed', { queue: text, perMinute: number, minutes: count, latency: seconds }),
      attention('queue-unserved', 'error', { queue: text, size: count }),
      attention('queue-without-worker', 'failed', { queue: text }),
      attention('task-stands-still', 'failed', { task: text, name: text, minutes: count }),
      attention('task-paused', 'failed', { task: text, name: text, reason: orNull(text) }),
      attention('ordered-silent', 'failed', { queue: text, shard: count, lag: seconds }),
      attention('no-process', 'error', { waiting: count }),
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
