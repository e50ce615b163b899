/** Routes of job metrics. */

import { MOST_MINUTES } from '../live/top-jobs.ts'
import { json } from '../server/answer.ts'
import { integer, text } from '../server/parameter.ts'
import { get, ok, type Route } from '../server/route.ts'

const MOST_HOURS = 72

export const METRICS_ROUTES: Route[] = [
  get('/api/v1/metrics', {
    id: 'listJobMetrics',
    summary: 'Lists the job classes that took the most time',
    query: {
      minutes: integer(1, MOST_MINUTES, undefined, 'the last minutes, including this one; default 60'),
      hours: integer(1, MOST_HOURS, undefined, 'instead of minutes: the last hours, in steps of ten minutes'),
      filter: text('only classes whose names contain this text'),
    },
    answers: ok('TopJobs', 'Classes'),
    run: async ({ server, query }) => json(await server.topJobs(query)),
  }),
  get('/api/v1/metrics/{class}', {
    id: 'getJobMetrics',
    summary: 'Returns one job class, minute by minute',
    query: { minutes: integer(1, MOST_MINUTES, 60, 'the last minutes, including this one') },
    answers: ok('JobMetrics', 'Its runs'),
    run: async ({ hq, path, query }) => json(await hq.metrics.job(path.class ?? '', query)),
  }),
]
