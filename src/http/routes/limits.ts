/** Routes of limits. */

import type { LimitPageOptions } from '../../inspect/limits.ts'
import { LimitSettings } from '../schemas/limits.ts'
import { json } from '../server/answer.ts'
import { integer, text } from '../server/parameter.ts'
import { type Call, get, ok, patch, post, type Route } from '../server/route.ts'
import { bodyOf } from '../server/schema.ts'
import { cursor, positionOf } from './job-key.ts'

const PATH = '/api/v1/limits/{id}'

const ONE = ok('LimitList', 'The limit after the change, each of its keys that is in use; empty when it is not in use')

const MOST = 1000

async function listed({ hq, server }: Pick<Call, 'hq' | 'server'>, options: LimitPageOptions): Promise<Response> {
  const { items: limits, next } = await hq.limits.page(options)
  // A key comes from arguments.
  const items = limits.map((limit) => ({ ...limit, ...server.redaction.value({ key: limit.key }) }))
  return json({ items, next: next && (await server.seal()).close(next, 'limits') })
}

export const LIMIT_ROUTES: Route[] = [
  get('/api/v1/limits', {
    id: 'listLimits',
    summary: 'Lists the limits that have used slots or waiting jobs, or whose numbers were set',
    query: {
      id: text('only this limit, each of its keys'),
      cursor,
      limit: integer(1, MOST, 100, 'items on one page'),
    },
    answers: ok('LimitList', 'A page, by name'),
    async run(call) {
      const { cursor, ...query } = call.query
      return listed(call, { ...query, cursor: (await positionOf(call.server, 'limits', cursor)) ?? undefined })
    },
  }),
  patch(PATH, {
    id: 'updateLimit',
    summary: 'Changes numbers of a limit on all workers, until they are reset; a queue needs no limit in the code',
    body: { content: { 'application/json': 'LimitSettings' } },
    answers: ONE,
    async run(call) {
      const { hq, path, audit } = call
      const id = path.id ?? ''
      const settings = await bodyOf(call, LimitSettings, 'a limit')
      const { per, ...numbers } = settings
      // The list shows seconds, also more than the code takes without a unit.
      await hq.limits.set(id, typeof per === 'number' ? { ...numbers, per: { seconds: per } } : settings)
      // The answer reads the store, which may fail.
      audit({ count: 1, settings })
      return listed(call, { id, limit: MOST })
    },
  }),
  post(`${PATH}/reset`, {
    id: 'resetLimit',
    summary: 'Deletes the numbers that were set: workers go back to those in the code',
    answers: ONE,
    async run(call) {
      const { hq, path, audit } = call
      const id = path.id ?? ''
      audit({ count: (await hq.limits.reset(id)) ? 1 : 0 })
      return listed(call, { id, limit: MOST })
    },
  }),
]
