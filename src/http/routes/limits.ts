/** The route of limits. */

import { json } from '../server/answer.ts'
import { get, ok, type Route } from '../server/route.ts'

export const LIMITS_ROUTE: Route = get('/api/v1/limits', {
  id: 'listLimits',
  summary: 'Lists the limits that have used slots or waiting jobs',
  answers: ok('LimitList', 'All of them, by name'),
  async run({ hq, server: { redaction } }) {
    // A key comes from arguments.
    const items = (await hq.limits.list()).map((limit) => ({ ...limit, ...redaction.value({ key: limit.key }) }))
    return json({ items, next: null })
  },
})
