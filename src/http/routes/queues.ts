/** Routes of queues and the jobs in them. */

import type { Highkiq, Process, Queue } from '../../index.ts'
import { filterOf } from '../../inspect/filter.ts'
import { searchOf } from '../../inspect/pattern.ts'
import { serves, slotsFor } from '../../inspect/process.ts'
import { type QueueSummary, summariesOf } from '../../inspect/queue.ts'
import { all } from '../../job/json.ts'
import { baseQueue } from '../../job/priority.ts'
import { json } from '../server/answer.ts'
import { flag, integer } from '../server/parameter.ts'
import { type Call, del, get, ok, post, type Route } from '../server/route.ts'
import { cursor, key, keyOfQueued, positionOf, queuedOf } from './job-key.ts'
import { FILTER } from './job-sets.ts'
import { cut, detailOf, summaryOf } from './job-summary.ts'

const PATH = '/api/v1/queues/{name}'
const TASK_PAGE = 200
/** The most tasks that are read, newest first: tasks with a backlog are rarely older than these. */
const MOST_TASKS = 5000

/** Returns all queues, or one, which may be empty. */
async function shownQueues({ hq, server }: Pick<Call, 'hq' | 'server'>, name?: string) {
  const trends = server.liveStats.trends()
  const [queues, processes, backlogs] = await Promise.all([
    name === undefined ? summariesOf(hq.store, hq.now()) : queueSummaryOf(hq.queue(name)).then((one) => [one]),
    all(hq.processes()),
    backlogByQueue(hq),
  ])
  return queues.map((queue) => {
    const serving = processes.filter((process) => serves(process, queue.name))
    return {
      ...queue,
      backlog: backlogs.get(queue.name) ?? 0,
      ignoredBy: serving.filter(({ ours }) => !ours).map(identityOf),
      slots: serving.reduce((sum, process) => sum + slotsFor(process, queue.name), 0),
      servedBy: serving.map(identityOf),
      trend: trends.of(queue.name),
    }
  })
}

/** Returns the number of rows that wait inside tasks, by the queue that they are for. */
async function backlogByQueue(hq: Highkiq): Promise<Map<string, number>> {
  const backlogs = new Map<string, number>()
  let { backlog: left } = await hq.store.metrics.totals()
  let before: { createdAt: number; id: string } | undefined
  for (let read = 0; left > 0 && read < MOST_TASKS; read += TASK_PAGE) {
    const tasks = await hq.store.tasks.page({ ...(before ? { before } : {}), limit: TASK_PAGE })
    for (const task of tasks) {
      if (task.backlog <= 0) continue
      const queue = baseQueue(task.queue)
      backlogs.set(queue, (backlogs.get(queue) ?? 0) + task.backlog)
      left -= task.backlog
    }
    before = tasks.at(-1)
    if (tasks.length < TASK_PAGE) break
  }
  return backlogs
}

async function queueSummaryOf(queue: Queue): Promise<QueueSummary> {
  const [size, limited, latency, paused] = await Promise.all([
    queue.size(),
    queue.limited(),
    queue.latency(),
    queue.isPaused(),
  ])
  return { name: queue.name, size, limited, latency, paused }
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

async function one(call: Call): Promise<Response> {
  const [queue] = await shownQueues(call, call.path.name ?? '')
  return json(queue)
}

export const QUEUE_ROUTES: Route[] = [
  get('/api/v1/queues', {
    id: 'listQueues',
    summary: 'Lists all queues by name',
    answers: ok('QueueList', 'All of them'),
    run: async (call) => json({ items: await shownQueues(call), next: null }),
  }),
  get(PATH, {
    id: 'getQueue',
    summary: 'Returns one queue, even when it is empty',
    answers: ONE,
    run: one,
  }),
  get(`${PATH}/jobs`, {
    id: 'listQueueJobs',
    summary: 'Lists the jobs in a queue, newest first',
    query: { search: FILTER.search, class: FILTER.class, cursor, limit: integer(1, 500, 50, 'items on one page') },
    answers: ok('JobSummaryList', 'A page. A filtered page may have no items although `next` is set.'),
    async run({ hq, server, path, query: { cursor, limit, ...filter } }) {
      const seal = await server.seal()
      const search = filterOf(filter, server.redaction.text) ?? searchOf('')
      const options = { after: await positionOf(server, cursor), limit }
      const { items, next, scanned } = await hq.queue(path.name ?? '').search(search, options)
      return json({
        items: items.map((job) => summaryOf(server.redaction, job, keyOfQueued(seal, job))),
        next: next === null ? null : seal.close(next),
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
      return json(detailOf(server.redaction, job, about))
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
      return json(isGone ? { done: 1, refused: 0 } : { done: 0, refused: 1, error: 'another request was faster' })
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
