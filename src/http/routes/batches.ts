/** Routes of batches. */

import type { Batch } from '../../index.ts'
import { HighkiqError } from '../../job/errors.ts'
import type { Redaction } from '../access/redact.ts'
import { NewBatch, NewFlow } from '../schemas/new-jobs.ts'
import { json } from '../server/answer.ts'
import { readBody } from '../server/body.ts'
import { cursor, integer } from '../server/parameter.ts'
import { answer, get, ok, PUSH_ERRORS, post, type Route } from '../server/route.ts'
import { bodyOf } from '../server/schema.ts'
import { addJobs, pushBatch, pushFlow } from './batch-push.ts'
import { positionOf, cursor as sealedCursor } from './job-key.ts'

const PATH = '/api/v1/batches/{bid}'

function shown(redaction: Redaction, { data, description, ...batch }: Batch): Batch {
  return { ...batch, ...redaction.value({ description }), data: redaction.value(data) }
}

function storedOf({ jids, existing = [] }: { jids: (string | null)[]; existing?: number[] }): number {
  return jids.filter((jid) => jid !== null).length - existing.length
}

export const BATCH_ROUTES: Route[] = [
  get('/api/v1/batches', {
    id: 'listBatches',
    summary: 'Lists batches, newest first',
    query: {
      cursor: cursor((text) => (/^\d+-[0-9a-f]{16}$/.test(text) ? text : undefined)),
      limit: integer(1, 500, 50, 'items on one page'),
    },
    answers: ok('BatchList', 'A page of batches'),
    async run({ hq, server, query }) {
      const { items, next } = await hq.batches.page(query)
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
      const pushed = await pushBatch(call.hq, await bodyOf(call, NewBatch))
      call.audit({ count: storedOf(pushed), target: { bid: pushed.bid } })
      return json(pushed, 201)
    },
  }),
  post(`${PATH}/jobs`, {
    id: 'addBatchJobs',
    errors: [...PUSH_ERRORS],
    summary: 'Adds a job, or an array of jobs, to a batch that has not ended: all of them or none',
    body: { content: { 'application/json': 'NewJobs' } },
    answers: { 201: answer('JobsAdded', 'Stored. `null` for a job that client middleware stopped.') },
    async run({ hq, request, audit, server: { limits }, path: { bid = '' } }) {
      const body = await readBody(request, limits.bodyBytes)
      const added = await addJobs(hq, bid, Array.isArray(body) ? body : [body])
      audit({ count: storedOf(added) })
      return json(added, 201)
    },
  }),
  post('/api/v1/flows', {
    id: 'pushFlow',
    errors: [...PUSH_ERRORS],
    summary: 'Pushes a tree of jobs: a job runs when its children have succeeded',
    body: { content: { 'application/json': 'NewFlow' } },
    answers: { 201: answer('FlowPushed', 'Stored') },
    async run(call) {
      const { count, ...pushed } = await pushFlow(call.hq, await bodyOf(call, NewFlow))
      call.audit({ count, target: { ...(pushed.bid === null ? {} : { bid: pushed.bid }) } })
      return json(pushed, 201)
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
      const position = (await positionOf(server, cursor)) ?? undefined
      const { items, next } = await hq.batches.memberPage(bid, { cursor: position, limit })
      return json({ items, next: next && (await server.seal()).close(next) })
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
