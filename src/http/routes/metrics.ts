/** Routes of job metrics. */

import { MOST_MINUTES } from '../live/top-jobs.ts'
import { json } from '../server/answer.ts'
import { integer, text } from '../server/parameter.ts'
import { get, ok, type Route } from '../server/route.ts'

const MOST_HOURS = 72
const optional = (most: number, description: string) => {
  const parameter = integer(1, most, 60, description)
  const { default: _, ...schema } = parameter.schema
  return {
    ...parameter,
    schema,
    read: (value: string | null, name: string) => (value === null ? undefined : parameter.read(value, name)),
  }
}

export const METRICS_ROUTES: Route[] = [
  get('/api/v1/metrics', {
    summary: 'Lists the job classes that took the most time',
    query: {
      minutes: optional(MOST_MINUTES, 'the last minutes, including this one; default 60'),
      hours: optional(MOST_HOURS, 'instead of minutes: the last hours, in steps of ten minutes'),
      filter: text('only classes whose names contain this text'),
    },
    answers: ok('TopJobs', 'Classes'),
    run: async ({ server, query }) => json(await server.topJobs.of(query)),
  }),
  get('/api/v1/metrics/{class}', {
    summary: 'Returns one job class, minute by minute',
    query: { minutes: integer(1, MOST_MINUTES, 60, 'the last minutes, including this one') },
    answers: ok('JobMetrics', 'Its runs'),
    run: async ({ hq, path, query }) => json(await hq.metrics.job(path.class ?? '', query)),
  }),
]
