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
      await hq.limits.set(id, settings)
      audit({ settings })
      return listed(hq, server.redaction, id)
    },
  }),
  post(`${PATH}/reset`, {
    id: 'resetLimit',
    summary: 'Makes the numbers of the code hold again',
    answers: ONE,
    async run({ hq, server, path }) {
      const id = path.id ?? ''
      await hq.limits.reset(id)
      return listed(hq, server.redaction, id)
    },
  }),
]
