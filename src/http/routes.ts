/** Every route there is. Of two that fit a path the first one counts. */

import { ABOUT_ROUTE } from './about.ts'
import { ACT_ROUTES } from './act.ts'
import { json } from './answer.ts'
import { CRON_ROUTES } from './crons.ts'
import { FILE_ROUTES } from './download.ts'
import { IMPORT_ROUTE } from './import.ts'
import { JOB_ROUTES } from './jobs.ts'
import { LOGIN_ROUTES } from './login.ts'
import { METRICS_ROUTES } from './metrics.ts'
import { documentOf } from './openapi.ts'
import { ORDERED_ROUTES } from './ordered.ts'
import { APP_ROUTE, PAGE_ROUTES } from './page.ts'
import { PROCESS_ROUTES } from './processes.ts'
import { PROMETHEUS_ROUTE } from './prometheus.ts'
import { QUEUE_ROUTES } from './queues.ts'
import { type Route, route } from './route.ts'
import { RUNNING_ROUTES } from './running.ts'
import { SET_ROUTES } from './sets.ts'
import { STATS_ROUTES } from './stats.ts'
import { STREAM_ROUTE } from './stream.ts'
import { TASK_ROUTES } from './tasks.ts'

const OPEN: Route[] = [
  route({
    method: 'GET',
    path: '/healthz',
    summary: 'Whether the store answers',
    access: 'all',
    answers: { 200: { description: 'It does', content: { 'application/json': 'Health' } } },
    async run({ hq }) {
      await hq.store.task('0000000000000000')
      return json({ status: 'ok' })
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/openapi.json',
    summary: 'This document',
    access: 'all',
    answers: { 200: { description: 'OpenAPI 3.1', content: { 'application/json': { type: 'object' } } } },
    run: ({ base }) => json(documentOf(ROUTES, base)),
  }),
]

export const ROUTES: readonly Route[] = [
  ...JOB_ROUTES,
  IMPORT_ROUTE,
  ...TASK_ROUTES,
  ...ACT_ROUTES,
  STREAM_ROUTE,
  ...FILE_ROUTES,
  ...ORDERED_ROUTES,
  ...SET_ROUTES,
  ...QUEUE_ROUTES,
  ...PROCESS_ROUTES,
  ...RUNNING_ROUTES,
  ...CRON_ROUTES,
  ...PAGE_ROUTES,
  ...LOGIN_ROUTES,
  APP_ROUTE,
  ABOUT_ROUTE,
  ...STATS_ROUTES,
  ...METRICS_ROUTES,
  PROMETHEUS_ROUTE,
  ...OPEN,
]
