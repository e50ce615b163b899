/** Routes of stats: now, live, and over time. */

import { stringifyJson } from '../../job/json.ts'
import { eventStream, STREAM_HEADERS } from '../live/event-stream.ts'
import type { LiveStats } from '../live/live-stats.ts'
import { snapshotStep } from '../live/throughput.ts'
import { RANGES } from '../schemas/building-blocks.ts'
import { errorBody, json } from '../server/answer.ts'
import { endOfCaller, watchCaller } from '../server/caller-watch.ts'
import { integer, oneOf, text } from '../server/parameter.ts'
import { get, ok, type Route } from '../server/route.ts'

/** The store keeps five years. */
const MOST_DAYS = 1825

const since = text('the `version` of the last answer; the whole list comes without it, or when it is too old')

export const STATS_ROUTES: Route[] = [
  get('/api/v1/stats', {
    id: 'getStats',
    summary: 'Returns the stats of `hq.stats()`, at most two seconds old',
    answers: ok('Stats', 'The stats'),
    run: async ({ server }) => json(await server.liveStats.stats()),
  }),
  get('/api/v1/live-stats', {
    id: 'getLiveStats',
    summary: 'Returns the live stats of the dashboard, at most two seconds old: figures, rates and alerts',
    answers: ok('LiveStats', 'The live stats'),
    run: async ({ server }) => json(await server.liveStats.latest()),
  }),
  get('/api/v1/diagnosis', {
    isComplete: true,
    id: 'getDiagnosis',
    summary:
      'Examines the store, the workers and the jobs, as `highkiq doctor` does; the answer is reused for five seconds',
    answers: ok('Diagnosis', 'The findings'),
    run: async ({ server }) => json(await server.diagnosis()),
  }),
  get('/api/v1/live-queues', {
    id: 'getLiveQueues',
    summary: 'Lists all queues in short, or only those that have changed since a version; at most two seconds old',
    query: { since },
    answers: ok('LiveQueueList', 'The queues that have changed'),
    run: async ({ server, query }) => json(await server.liveLists.queues(query.since)),
  }),
  get('/api/v1/live-processes', {
    id: 'getLiveProcesses',
    summary: 'Lists all processes, or only those that have changed since a version; at most two seconds old',
    query: { since },
    answers: ok('LiveProcessList', 'The processes that have changed'),
    run: async ({ server, query }) => json(await server.liveLists.processes(query.since)),
  }),
  get('/api/v1/live', {
    id: 'streamLiveStats',
    summary: 'Streams the live stats: `stats` at most every 2 s, `trouble` while the store does not answer',
    headers: { 'last-event-id': 'the last event is not repeated' },
    answers: {
      200: {
        description: 'Each `stats` carries LiveStats, each `trouble` a Problem',
        content: { 'text/event-stream': { type: 'string' } },
      },
    },
    run(call) {
      const { server, request } = call
      const leave = server.streams.enter()
      let known = request.headers.get('last-event-id') ?? ''
      const stream = eventStream<LiveStats | { trouble: unknown }>({
        unreadSeconds: server.limits.unreadSeconds,
        isOver: endOfCaller(watchCaller(call)),
        onEnd: leave,
        subscribe(offer) {
          const listener = { onStats: offer, onError: (thrown: unknown) => offer({ trouble: thrown }) }
          server.liveStats.latest().then(listener.onStats, listener.onError)
          return server.liveStats.listen(listener)
        },
        format(event) {
          if ('trouble' in event) {
            return { text: `event: trouble\ndata: ${stringifyJson(errorBody(event.trouble))}\n\n`, isLast: false }
          }
          const name = event.at.toISOString()
          if (name === known) return { text: '', isLast: false }
          known = name
          return { text: `id: ${name}\nevent: stats\ndata: ${stringifyJson(event)}\n\n`, isLast: false }
        },
      })
      return new Response(stream, { headers: STREAM_HEADERS })
    },
  }),
  get('/api/v1/history', {
    id: 'getHistory',
    summary: 'Returns the finished and failed runs of each UTC day, newest first',
    query: { days: integer(1, MOST_DAYS, 30, 'number of days, including today') },
    answers: ok('DayList', 'Days'),
    run: async ({ hq, query }) => json({ items: await hq.history(query.days), next: null }),
  }),
  get('/api/v1/throughput', {
    id: 'getThroughput',
    summary: 'Returns the finished and failed runs, step by step, complete steps only',
    query: { range: oneOf(RANGES, 'how far back; default 1h') },
    answers: ok('Throughput', 'Oldest first'),
    run: async ({ server, query }) => json(await server.throughputs(query.range ?? '1h')),
  }),
  get('/api/v1/gauges', {
    id: 'getGauges',
    summary: 'Returns totals and sizes over time, as a worker stored them every minute, ten minutes or day',
    query: { range: oneOf(RANGES, 'how far back; default 1h') },
    answers: ok('Gauges', 'Oldest first'),
    async run({ server, query: { range = '1h' } }) {
      const points = (await server.snapshots(range)).map((one) => ({
        ...{ at: one.at, takenAt: one.takenAt, processed: one.processed, failed: one.failed, busy: one.busy },
        ...{ enqueued: one.enqueued, backlog: one.backlog, retries: one.retries, dead: one.dead },
      }))
      return json({ step: snapshotStep(range), points })
    },
  }),
]
