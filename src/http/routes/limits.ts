/** The route of limits. */

import { json } from '../server/answer.ts'
import { get, ok, type Route } from '../server/route.ts'

export const LIMITS_ROUTE: Route = get('/api/v1/limits', {
  summary: 'Lists the limits that have used slots or waiting jobs',
  answers: ok('LimitList', 'All of them, by name'),
  run: async ({ hq }) => json({ items: await hq.limits(), next: null }),
})
