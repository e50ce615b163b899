/** Routes of limits. */

import type { Highkiq } from '../../app.ts'
import type { Redaction } from '../access/redact.ts'
import { LimitSettings } from '../schemas/jobs.ts'
import { json } from '../server/answer.ts'
import { get, ok, patch, post, type Route } from '../server/route.ts'
import { bodyOf } from '../server/schema.ts'

const PATH = '/api/v1/limits/{id}'

const ONE = ok('LimitList', 'The limit after the change, each of its keys that is in use; empty when it is not in use')

async function listed(hq: Highkiq, redaction: Redaction, id?: string): Promise<Response> {
  const limits = (await hq.limits.list()).filter((limit) => id === undefined || limit.id === id)
  // A key comes from arguments.
  const items = limits.map((limit) => ({ ...limit, ...redaction.value({ key: limit.key }) }))
  return json({ items, next: null })
}

export const LIMIT_ROUTES: Route[] = [
  get('/api/v1/limits', {
    id: 'listLimits',
    summary: 'Lists the limits that have used slots or waiting jobs, or whose numbers were set',
    answers: ok('LimitList', 'All of them, by name'),
    run: ({ hq, server: { redaction } }) => listed(hq, redaction),
  }),
  patch(PATH, {
    id: 'updateLimit',
    summary: 'Changes numbers of a limit on all workers, until they are reset; a queue needs no limit in the code',
    body: { content: { 'application/json': 'LimitSettings' } },
    answers: ONE,
    async run(call) {
      const { hq, server, path, audit } = call
      const id = path.id ?? ''
      const settings = await bodyOf(call, LimitSettings, 'a limit')
      const { per, ...numbers } = settings
      // The list shows seconds, also more than the code takes without a unit.
      await hq.limits.set(id, typeof per === 'number' ? { ...numbers, per: { seconds: per } } : settings)
      // The answer reads the store, which may fail.
      audit({ count: 1, settings })
      return listed(hq, server.redaction, id)
    },
  }),
  post(`${PATH}/reset`, {
    id: 'resetLimit',
    summary: 'Deletes the numbers that were set: workers go back to those in the code',
    answers: ONE,
    async run({ hq, server, path, audit }) {
      const id = path.id ?? ''
      audit({ count: (await hq.limits.reset(id)) ? 1 : 0 })
      return listed(hq, server.redaction, id)
    },
  }),
]
