/** Routes of queues and the jobs in them. */

import type { Process, Queue } from '../../index.ts'
import { filterOf } from '../../inspect/filter.ts'
import { searchOf } from '../../inspect/pattern.ts'
import { type QueueSummary, summariesOf } from '../../inspect/queue.ts'
import { given } from '../../job/options.ts'
import { servedQueues } from '../live/served-queues.ts'
import { MOST_MINUTES } from '../live/top-jobs.ts'
import { timeOf } from '../schemas/times.ts'
import { json } from '../server/answer.ts'
import { flag, integer, oneOf } from '../server/parameter.ts'
import { type Call, del, get, ok, post, type Route } from '../server/route.ts'
import { actedOn, cursor, key, keyOfQueued, positionOf, queuedOf } from './job-key.ts'
import { FILTER } from './job-sets.ts'
import { cut, detailOf, summaryOf } from './job-summary.ts'
import { PERIOD } from './metrics.ts'

const PATH = '/api/v1/queues/{name}'

async function shownQueues({ server }: Pick<Call, 'server'>, queues: readonly QueueSummary[]) {
  const trends = server.liveStats.trends()
  return (await servedQueues(server.reads, queues)).map(({ serving, ...queue }) => ({
    ...queue,
    ignoredBy: serving.filter(({ ours }) => !ours).map(identityOf),
    servedBy: serving.map(identityOf),
    trend: trends.of(queue.name),
  }))
}

const identityOf = ({ identity }: Process) => identity

const ONE = ok('Queue', 'The queue after the change')

/** Makes a route that changes the queue and returns it. */
function actionRoute(name: string, summary: string, run: (queue: Queue) => Promise<unknown>): Route {
  return post(`${PATH}/${name}`, {
    id: `${name}Queue`,
    summary,
    answers: ONE,
    async run(call) {
      await run(call.hq.queue(call.path.name ?? ''))
      return one(call)
    },
  })
}

/** Returns one queue, which may be empty. */
async function one(call: Call): Promise<Response> {
  const { hq, path } = call
  const [queue] = await shownQueues(call, await summariesOf(hq.store, hq.now(), [hq.queue(path.name ?? '').name]))
  return json(queue)
}

export const QUEUE_ROUTES: Route[] = [
  get('/api/v1/queues', {
    id: 'listQueues',
    summary: 'Lists all queues by name, or those that are first by size or latency',
    query: {
      by: oneOf(['name', 'size', 'latency'], 'the order; sizes and latencies begin with the highest'),
      limit: integer(1, undefined, undefined, 'the most queues'),
    },
    answers: ok('QueueList', 'The queues'),
    async run(call) {
      const { by = 'name', limit } = call.query
      const { queues } = await call.server.reads.queues()
      const sorted = by === 'name' ? queues : queues.toSorted((a, b) => b[by] - a[by] || b.size - a.size)
      return json({ items: await shownQueues(call, sorted.slice(0, limit)), next: null })
    },
  }),
  get(PATH, {
    id: 'getQueue',
    summary: 'Returns one queue, even when it is empty',
    answers: ONE,
    run: one,
  }),
  get(`${PATH}/classes`, {
    id: 'listQueueClasses',
    summary: 'Counts the jobs in a queue by class: of its next 5,000 jobs, at most ten seconds old',
    answers: ok('QueueClasses', 'The classes, most frequent first'),
    async run({ server, path }) {
      const { items, ...rest } = await server.queueInsight.classes(path.name ?? '')
      const shown = items.map(({ class: name, count, since }) => ({ class: cut(name), count, since: timeOf(since) }))
      return json({ items: shown, ...rest })
    },
  }),
  get(`${PATH}/waits`, {
    id: 'getQueueWaits',
    summary: 'Returns how long the jobs that ran had waited in the queue, minute by minute',
    query: { minutes: integer(1, MOST_MINUTES, 60, 'minutes up to now') },
    answers: ok('QueueWaits', 'The waits'),
    run: async ({ server, path, query }) => json(await server.queueInsight.waits(path.name ?? '', query.minutes)),
  }),
  get(`${PATH}/sizes`, {
    id: 'getQueueSizes',
    summary: 'Returns how many jobs waited in the queue over time, as a worker stored it every minute',
    query: PERIOD,
    answers: ok('QueueSizes', 'The sizes. There is no point for a time in which no worker ran.'),
    run: async ({ server, path, query }) => json(await server.queueInsight.sizes(path.name ?? '', given(query))),
  }),
  get(`${PATH}/jobs`, {
    id: 'listQueueJobs',
    summary: 'Lists the jobs in a queue, newest or oldest first',
    query: {
      search: FILTER.search,
      class: FILTER.class,
      order: oneOf(['newest', 'oldest'], 'which come first: the newest (default), or those that are fetched next'),
      cursor,
      limit: integer(1, 500, 50, 'items on one page'),
    },
    answers: ok('JobSummaryList', 'A page. A filtered page may have no items although `next` is set.'),
    async run({ hq, server, path, query: { cursor, limit, order, ...filter } }) {
      const seal = await server.seal()
      const search = filterOf(filter, server.redaction.view) ?? searchOf('')
      const options = { after: await positionOf(server, 'queue', cursor), oldestFirst: order === 'oldest', limit }
      const { items, next, scanned } = await hq.queue(path.name ?? '').search(search, options)
      return json({
        items: items.map((job) => summaryOf(server.redaction, job, keyOfQueued(seal, job))),
        next: next === null ? null : seal.close(next, 'queue'),
        scanned,
      })
    },
  }),
  get(`${PATH}/jobs/{jid}`, {
    id: 'getQueueJob',
    errors: ['UNKNOWN_JID'],
    summary: 'Returns one job of a queue with all details',
    query: { key, whole: flag('returns the whole job, however long it is') },
    answers: ok('JobDetail', 'The job'),
    async run({ hq, server, path, query, request }) {
      const named = { jid: path.jid ?? '', key: query.key }
      const job = await queuedOf(server, hq.queue(path.name ?? ''), named, request.signal)
      const about = { key: keyOfQueued(await server.seal(), job), at: null, whole: query.whole }
      return json(await detailOf({ hq, server }, job, about))
    },
  }),
  del(`${PATH}/jobs/{jid}`, {
    id: 'deleteQueueJob',
    errors: ['UNKNOWN_JID'],
    summary: 'Deletes one job from a queue',
    query: { key },
    answers: ok('Acted', 'The result'),
    async run({ hq, server, path, query, request, audit }) {
      const named = { jid: path.jid ?? '', key: query.key }
      const job = await queuedOf(server, hq.queue(path.name ?? ''), named, request.signal)
      const isGone = await job.delete()
      audit({ count: isGone ? 1 : 0, class: cut(job.displayClass) })
      return json(actedOn(isGone))
    },
  }),
  actionRoute('pause', 'Workers fetch no more jobs from it; running jobs finish, and pushes are stored', (queue) =>
    queue.pause(),
  ),
  actionRoute('resume', 'Workers fetch jobs from it again', (queue) => queue.resume()),
  post(`${PATH}/clear`, {
    id: 'clearQueue',
    summary: 'Deletes all jobs that wait in it',
    answers: ok('Cleared', 'The number of items'),
    async run({ hq, path, audit }) {
      const done = await hq.queue(path.name ?? '').clear()
      audit({ count: done })
      return json({ done })
    },
  }),
]
