/** Routes of job metrics and deploys. */

import { given } from '../../job/options.ts'
import { MOST_COMPARED_MINUTES } from '../../metrics/deploy-comparison.ts'
import { MOST_MINUTES } from '../live/top-jobs.ts'
import { METRICS_ORDERS } from '../schemas/building-blocks.ts'
import { json } from '../server/answer.ts'
import { integer, oneOf, text, time } from '../server/parameter.ts'
import { get, ok, type Route } from '../server/route.ts'

const MOST_HOURS = 72

export const PERIOD = {
  minutes: integer(1, MOST_MINUTES, undefined, 'the last minutes, including this one; default 60'),
  hours: integer(1, MOST_HOURS, undefined, 'instead of minutes: the last hours, in steps of ten minutes'),
}

export const METRICS_ROUTES: Route[] = [
  get('/api/v1/metrics', {
    id: 'listJobMetrics',
    summary: 'Lists the job classes, at first those that took the most time',
    query: {
      ...PERIOD,
      filter: text('only classes whose names contain this text'),
      by: oneOf(METRICS_ORDERS, 'what is highest first; default seconds, the total time'),
    },
    answers: ok('TopJobs', 'Classes'),
    run: async ({ server, query }) => json(await server.topJobs(query)),
  }),
  get('/api/v1/metrics/{class}', {
    id: 'getJobMetrics',
    summary: 'Returns one job class, step by step',
    query: PERIOD,
    answers: ok('JobMetrics', 'Its runs'),
    run: async ({ hq, path, query }) => json(await hq.metrics.job(path.class ?? '', given(query))),
  }),
  get('/api/v1/deploys', {
    id: 'listDeploys',
    summary: 'Lists the deploys of the last days',
    query: { days: integer(1, 90, 90, 'number of days, including today') },
    answers: ok('DeployList', 'Newest first'),
    run: async ({ hq, query }) => json({ items: (await hq.metrics.deploys(query)).reverse(), next: null }),
  }),
  get('/api/v1/deploy-comparison', {
    id: 'compareDeploy',
    summary: 'Compares the runs of each class before and after a deploy',
    query: {
      at: time('the time of the deploy; default: the newest one'),
      minutes: integer(1, MOST_COMPARED_MINUTES, 60, 'the most minutes before and after it'),
    },
    answers: ok('DeployComparison', 'Those that got worse first; `deploy` is null when there is no such deploy'),
    async run({ server, query: { at, minutes } }) {
      const found = await server.deployComparisons({ at: at?.getTime(), minutes })
      return json(found ?? { deploy: null, before: null, after: null, jobs: [] })
    },
  }),
]
