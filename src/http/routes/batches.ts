/** Routes of batches. */

import { BATCH_STATES } from '../../batches/batches.ts'
import { addJobs, flowOf, pushBatch } from '../../batches/from-json.ts'
import type { Batch } from '../../index.ts'
import { HighkiqError, PushError } from '../../job/errors.ts'
import { given } from '../../job/options.ts'
import type { Redaction } from '../access/redact.ts'
import { NewBatch, NewFlow } from '../schemas/new-jobs.ts'
import { invalid, json } from '../server/answer.ts'
import { readBody } from '../server/body.ts'
import { cursor, integer, oneOf, text } from '../server/parameter.ts'
import { answer, type Call, get, ok, PUSH_ERRORS, post, type Route } from '../server/route.ts'
import { bodyOf } from '../server/schema.ts'
import { classCollector } from './class-collector.ts'
import { positionOf, cursor as sealedCursor } from './job-key.ts'

const PATH = '/api/v1/batches/{bid}'

function shown(redaction: Redaction, { data, description, ...batch }: Batch): Batch {
  return { ...batch, ...redaction.value({ description }), data: redaction.value(data) }
}

type Ids = Awaited<ReturnType<typeof addJobs>>

function storedOf({ jids, existing = [] }: Ids): number {
  return jids.filter((jid) => jid !== null).length - existing.length
}

/** Returns those of the ids that there are. */
function idsOf(ids: Record<string, string | null | undefined>): Record<string, string> {
  return Object.fromEntries(Object.entries(ids).flatMap(([name, id]) => (typeof id === 'string' ? [[name, id]] : [])))
}

/** @throws INVALID_REQUEST */
function refuseKey({ request }: Pick<Call, 'request'>): void {
  if (!request.headers.has('idempotency-key')) return
  throw invalid(
    "batches and flows can't have an Idempotency-Key: after a lost answer, look for the batch before you send it again",
  )
}

/**
 * Pushes jobs, and records in the audit their classes, how many are stored, and the ids of what they are in. `made` returns the
 * last two.
 */
async function pushAudited<T>(
  { audit, path }: Call,
  jobs: Iterable<unknown>,
  push: () => Promise<T>,
  made: (pushed: T) => { count: number; ids?: Record<string, string> },
): Promise<T> {
  const target = { ...path, ...classCollector()(jobs) }
  audit({ target })
  try {
    const pushed = await push()
    const { count, ids } = made(pushed)
    audit({ count, target: { ...target, ...ids } })
    return pushed
  } catch (thrown) {
    if (thrown instanceof PushError) {
      const { bid } = thrown.details as { bid?: string }
      audit({ count: thrown.pushed.length, target: { ...target, ...idsOf({ bid }) } })
    }
    throw thrown
  }
}

export const BATCH_ROUTES: Route[] = [
  get('/api/v1/batches', {
    id: 'listBatches',
    summary: 'Lists batches, newest first',
    query: {
      state: oneOf(
        BATCH_STATES,
        'only batches in this state; a search reads at most 2,000 batches, so a page may have no items',
      ),
      search: text('only batches and flows whose description contains this text'),
      cursor: cursor((text) => (/^\d+-[0-9a-f]{16}$/.test(text) ? text : undefined)),
      limit: integer(1, 500, 50, 'items on one page'),
    },
    answers: ok('BatchList', 'A page of batches'),
    async run({ hq, server, query }) {
      const { items, next } = await hq.batches.page(given(query), {
        // A hidden description is not found by its text.
        shown: (description) => String(server.redaction.value({ description }).description ?? ''),
      })
      return json({ items: items.map((batch) => shown(server.redaction, batch)), next })
    },
  }),
  post('/api/v1/batches', {
    id: 'pushBatch',
    errors: [...PUSH_ERRORS],
    summary: 'Creates a batch of jobs, with callbacks: all of it or nothing',
    body: { content: { 'application/json': 'NewBatch' } },
    answers: { 201: answer('BatchPushed', 'Stored. `null` for a job that client middleware stopped.') },
    async run(call) {
      refuseKey(call)
      const body = await bodyOf(call, NewBatch)
      const made = (pushed: { bid: string } & Ids) => ({ count: storedOf(pushed), ids: { bid: pushed.bid } })
      return json(await pushAudited(call, body.jobs, () => pushBatch(call.hq, body), made), 201)
    },
  }),
  post(`${PATH}/jobs`, {
    id: 'addBatchJobs',
    errors: [...PUSH_ERRORS],
    summary: 'Adds a job, or an array of jobs, to a batch that has not ended: all of them or none',
    body: { content: { 'application/json': 'NewJobs' } },
    answers: { 201: answer('JobsAdded', 'Stored. `null` for a job that client middleware stopped.') },
    async run(call) {
      refuseKey(call)
      const { hq, request, server, path } = call
      const body = await readBody(request, server.limits.bodyBytes)
      const jobs = Array.isArray(body) ? body : [body]
      const push = () => addJobs(hq, path.bid ?? '', jobs)
      return json(await pushAudited(call, jobs, push, (pushed) => ({ count: storedOf(pushed) })), 201)
    },
  }),
  post('/api/v1/flows', {
    id: 'pushFlow',
    errors: [...PUSH_ERRORS],
    summary: 'Pushes a tree of jobs: a job runs when its children have succeeded',
    body: { content: { 'application/json': 'NewFlow' } },
    answers: { 201: answer('FlowPushed', 'Stored') },
    async run(call) {
      refuseKey(call)
      const { flow, options, jobs } = flowOf(await bodyOf(call, NewFlow))
      const push = async () => (await call.hq.flow(flow, options)) ?? { jid: null, bid: null }
      const made = ({ jid, bid }: { jid: string | null; bid: string | null }) => {
        return { count: jid === null ? 0 : jobs.length, ids: idsOf({ bid, jid }) }
      }
      return json(await pushAudited(call, jobs, push, made), 201)
    },
  }),
  get(PATH, {
    id: 'getBatch',
    errors: ['UNKNOWN_BATCH'],
    summary: 'Returns a batch',
    answers: ok('Batch', 'The batch'),
    async run({ hq, server, path: { bid = '' } }) {
      const batch = await hq.batches.get(bid)
      if (!batch) throw new HighkiqError('UNKNOWN_BATCH', `no batch has the id ${bid}`)
      return json(shown(server.redaction, batch))
    },
  }),
  get(`${PATH}/members`, {
    id: 'listBatchMembers',
    errors: ['UNKNOWN_BATCH'],
    summary: 'Lists the members of a batch that have not succeeded or failed, in any order',
    query: {
      cursor: sealedCursor,
      limit: integer(1, 500, 50, 'members on one page; there may be more'),
    },
    answers: ok('BatchMemberList', 'A page of members'),
    async run({ hq, server, query: { cursor, limit }, path: { bid = '' } }) {
      const position = (await positionOf(server, 'batch members', cursor)) ?? undefined
      const { items, next } = await hq.batches.memberPage(bid, { cursor: position, limit })
      return json({ items, next: next && (await server.seal()).close(next, 'batch members') })
    },
  }),
  post(`${PATH}/cancel`, {
    id: 'cancelBatch',
    errors: ['UNKNOWN_BATCH'],
    summary: 'Cancels the pending jobs of a batch, and of the batches in it',
    answers: ok('BatchCancelled', 'The number of cancelled jobs'),
    async run({ hq, audit, path: { bid = '' } }) {
      const cancelled = await hq.batches.cancel(bid)
      audit({ count: cancelled })
      return json({ cancelled })
    },
  }),
]
