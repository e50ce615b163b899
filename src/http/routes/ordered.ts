/** Routes of ordered queues: stats, waiting ids, the morgue, and actions on them. */

import type { DeadId, Highkiq, OrderedQueue, ScoredValue, WaitingId } from '../../index.ts'
import type { HighkiqError } from '../../job/errors.ts'
import { given } from '../../job/options.ts'
import { named } from '../access/audit.ts'
import { snapshotStep } from '../live/throughput.ts'
import { RANGES } from '../schemas/building-blocks.ts'
import { OrderedIds, OrderedReshard } from '../schemas/ordered.ts'
import { dateOf } from '../schemas/times.ts'
import { json } from '../server/answer.ts'
import { jsonBody, LINES, typeOf } from '../server/body.ts'
import { flag, integer, oneOf, text } from '../server/parameter.ts'
import { answer, type Call, get, ok, post, type Route } from '../server/route.ts'
import { bodyOf } from '../server/schema.ts'
import { pushBody, pushStream } from './ordered-push.ts'

const PATH = '/api/v1/ordered/{name}'

/** @throws UNKNOWN_ORDERED */
function queueOf({ hq, path }: Pick<Call, 'hq' | 'path'>): Promise<OrderedQueue> {
  return hq.ordered(path.name ?? '').known()
}

async function statsOf(hq: Highkiq, name: string) {
  return { name, ...(await hq.ordered(name).stats()) }
}

const page = {
  desc: flag('in descending order'),
  from: text('where to begin: an id, seconds since 1970, or a number of retries'),
  cursor: text('the `next` of the previous page', 20_000),
  limit: integer(1, 500, 25, 'items on one page'),
}

const optionsOf = <By extends string>(query: {
  by: By | undefined
  desc: boolean
  from: string | undefined
  cursor: string | undefined
  limit: number
}) => given({ ...query, cursor: undefined, after: query.cursor })

const payloadsOf = ({ server }: Call, payloads: ScoredValue[]) =>
  payloads.map(({ payload, score }) => ({ payload: server.redaction.value(payload), score }))
const errorOf = ({ server }: Call, error: string | null) => error && server.redaction.message(error)
const waiting = (call: Call, { performIn, payloads, error, ...rest }: WaitingId) => {
  return { ...rest, error: errorOf(call, error), payloads: payloadsOf(call, payloads), performIn: dateOf(performIn) }
}
const dead = (call: Call, { updatedAt, payloads, error, ...rest }: DeadId) => {
  return { ...rest, error: errorOf(call, error), payloads: payloadsOf(call, payloads), updatedAt: dateOf(updatedAt) }
}

/** Makes a route that changes the queue and returns it. */
function actionRoute(
  name: string,
  summary: string,
  run: (queue: OrderedQueue, call: Call) => Promise<void>,
  body = {},
): Route {
  return post(`${PATH}/${name}`, {
    id: `${name}Ordered`,
    errors: ['UNKNOWN_ORDERED'],
    summary,
    ...body,
    answers: ok('OrderedQueue', 'Its numbers after the change'),
    async run(call) {
      const queue = await queueOf(call)
      await run(queue, call)
      return json(await statsOf(call.hq, queue.queue))
    },
  })
}

/** Makes a route for an action on some ids, or on all. */
function actOnIds(
  path: string,
  id: string,
  summary: string,
  run: (queue: OrderedQueue, ids: string[] | undefined) => Promise<number>,
): Route {
  return post(`${PATH}/${path}`, {
    id,
    errors: ['UNKNOWN_ORDERED'],
    summary,
    body: { content: { 'application/json': 'OrderedIds' } },
    answers: ok('OrderedActed', 'The number of items'),
    async run(call) {
      const queue = await queueOf(call)
      const ids = (await bodyOf(call, OrderedIds)).ids?.map(String)
      const count = await run(queue, ids)
      call.audit({ count, ids: ids ? named(ids) : 'all' })
      return json({ ids: count })
    },
  })
}

export const ORDERED_ROUTES: Route[] = [
  get('/api/v1/ordered', {
    id: 'listOrderedQueues',
    summary: 'Lists all ordered queues by name',
    answers: ok('OrderedQueueList', 'All of them'),
    async run({ hq }) {
      const names = await hq.orderedQueues()
      return json({ items: await Promise.all(names.map((name) => statsOf(hq, name))), next: null })
    },
  }),
  get(PATH, {
    id: 'getOrderedQueue',
    errors: ['UNKNOWN_ORDERED'],
    summary: 'Returns one ordered queue, shard by shard',
    answers: ok('OrderedQueue', 'Its numbers'),
    run: async (call) => json(await statsOf(call.hq, (await queueOf(call)).queue)),
  }),
  post(PATH, {
    id: 'pushOrdered',
    errors: ['INVALID_JOB', 'INVALID_ARGS', 'ARGS_TOO_LARGE', 'TOO_MANY_ROWS', 'UNKNOWN_ORDERED'],
    summary: 'Pushes an ordered job, an array of them, or a stream of them, one JSON object a line',
    body: jsonBody('OrderedItems'),
    answers: { 201: answer('OrderedPushed', 'Stored') },
    async run(call) {
      const queue = call.hq.ordered(call.path.name ?? '')
      try {
        const pushed = await (LINES.includes(typeOf(call.request)) ? pushStream : pushBody)(queue, call)
        call.audit({ count: pushed })
        return json({ pushed }, 201)
      } catch (thrown) {
        const { pushed = 0 } = ((thrown ?? {}) as Partial<HighkiqError>).details ?? {}
        call.audit({ count: pushed as number })
        throw thrown
      }
    },
  }),
  get(`${PATH}/waiting`, {
    id: 'listOrderedWaiting',
    errors: ['UNKNOWN_ORDERED'],
    summary: 'Lists the waiting ids',
    query: { by: oneOf(['performIn', 'id', 'retryCount'], 'sort order; default performIn'), ...page },
    answers: ok('OrderedWaitingList', 'A page'),
    async run(call) {
      const { by = 'performIn' } = call.query
      const { items, next } = await (await queueOf(call)).waiting.list(optionsOf({ ...call.query, by }))
      return json({ items: items.map((one) => waiting(call, one)), next })
    },
  }),
  get(`${PATH}/in-flight`, {
    id: 'listOrderedInFlight',
    errors: ['UNKNOWN_ORDERED'],
    summary: 'Lists the ids that workers have fetched and not settled',
    query: { limit: integer(1, 500, 100, 'items at most') },
    answers: ok('OrderedInFlightList', 'Those first that were fetched first'),
    async run(call) {
      return json({ items: (await (await queueOf(call)).inFlight()).slice(0, call.query.limit), next: null })
    },
  }),
  get(`${PATH}/history`, {
    id: 'getOrderedHistory',
    errors: ['UNKNOWN_ORDERED'],
    summary: 'Returns the figures of a queue over time, as a worker stored them every minute, ten minutes or day',
    query: { range: oneOf(RANGES, 'how far back; default 1h') },
    answers: ok('OrderedHistory', 'Oldest first'),
    async run(call) {
      const { range = '1h' } = call.query
      const { queue } = await queueOf(call)
      const points = (await call.server.snapshots(range)).flatMap(({ at, ordered }) => {
        const figures = Object.hasOwn(ordered, queue) ? ordered[queue] : undefined
        return figures ? { at, ...figures } : []
      })
      return json({ step: snapshotStep(range), points })
    },
  }),
  get(`${PATH}/ids/{id}`, {
    id: 'getOrderedId',
    errors: ['UNKNOWN_ORDERED'],
    summary: 'Returns where an id is: it can wait, run and be in the morgue at the same time',
    answers: ok('OrderedId', 'The id'),
    async run(call) {
      const found = await (await queueOf(call)).find(call.path.id ?? '')
      return json({
        waiting: found.waiting && waiting(call, found.waiting),
        inFlight: found.inFlight,
        dead: found.dead && dead(call, found.dead),
      })
    },
  }),
  actOnIds('waiting/now', 'runOrderedWaiting', 'Makes these ids, or all, due now', (queue, ids) =>
    ids ? queue.waiting.performNow(ids) : queue.waiting.performAllNow(),
  ),
  actOnIds(
    'waiting/delete',
    'deleteOrderedWaiting',
    'Deletes the waiting payloads of these ids, or of all ids that failed',
    (queue, ids) => (ids ? queue.waiting.delete(ids) : queue.waiting.deleteAllFailed()),
  ),
  actOnIds(
    'waiting/kill',
    'killOrderedWaiting',
    'Moves the waiting payloads of these ids, or of all ids that failed, to the morgue',
    (queue, ids) => (ids ? queue.waiting.kill(ids) : queue.waiting.killAllFailed()),
  ),
  get(`${PATH}/morgue`, {
    id: 'listOrderedMorgue',
    errors: ['UNKNOWN_ORDERED'],
    summary: 'Lists the morgue',
    query: { by: oneOf(['updatedAt', 'id'], 'sort order; default updatedAt'), ...page },
    answers: ok('OrderedDeadList', 'A page'),
    async run(call) {
      const { items, next } = await (await queueOf(call)).morgue.list(optionsOf(call.query))
      return json({ items: items.map((one) => dead(call, one)), next })
    },
  }),
  actOnIds(
    'morgue/resurrect',
    'resurrectOrdered',
    'Resurrects these ids, or all: with no failures, and due now',
    (queue, ids) => queue.morgue.resurrect(ids ?? 'all'),
  ),
  actOnIds('morgue/delete', 'deleteOrderedDead', 'Deletes these ids, or all, from the morgue', (queue, ids) =>
    queue.morgue.delete(ids ?? 'all'),
  ),
  actionRoute('pause', 'Workers fetch no more batches; running batches finish, and pushes are stored', (queue) =>
    queue.pause(),
  ),
  actionRoute('resume', 'Workers fetch batches again', (queue) => queue.resume()),
  actionRoute(
    'reshard',
    'Changes the number of shards while workers run',
    async (queue, call) => {
      await queue.reshard((await bodyOf(call, OrderedReshard)).shards)
    },
    { body: { content: { 'application/json': 'OrderedReshard' } } },
  ),
]
