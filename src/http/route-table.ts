/** The table of all routes. When two routes match a path, the first one is used. */

import { openApiDocument } from './openapi.ts'
import { APP_ROUTE, PAGE_ROUTES } from './pages.ts'
import { ABOUT_ROUTE } from './routes/about.ts'
import { ALL_JOBS_ROUTES } from './routes/all-jobs.ts'
import { BATCH_ROUTES } from './routes/batches.ts'
import { CLASS_ROUTE } from './routes/classes.ts'
import { CRON_ROUTES } from './routes/crons.ts'
import { DEFERRED_ROUTES } from './routes/deferred.ts'
import { EVENTS_ROUTE } from './routes/events.ts'
import { JOB_EDIT_ROUTES } from './routes/job-edits.ts'
import { JOB_SET_ROUTES } from './routes/job-sets.ts'
import { JOB_ROUTES } from './routes/jobs.ts'
import { LIMIT_ROUTES } from './routes/limits.ts'
import { LOGIN_ROUTES } from './routes/login.ts'
import { METRICS_ROUTES } from './routes/metrics.ts'
import { ORDERED_ROUTES } from './routes/ordered.ts'
import { PROCESS_ROUTES } from './routes/processes.ts'
import { PROMETHEUS_ROUTE } from './routes/prometheus.ts'
import { QUEUE_ROUTES } from './routes/queues.ts'
import { RUNNING_ROUTE } from './routes/running.ts'
import { STATS_ROUTES } from './routes/stats.ts'
import { TASK_ACTION_ROUTES } from './routes/tasks/actions.ts'
import { FILE_ROUTES } from './routes/tasks/download.ts'
import { IMPORT_ROUTE } from './routes/tasks/import.ts'
import { STREAM_ROUTE } from './routes/tasks/stream.ts'
import { TASK_ROUTES } from './routes/tasks/tasks.ts'
import { UNIQUE_LOCK_ROUTES } from './routes/unique-locks.ts'
import { json, jsonText } from './server/answer.ts'
import { get, ok, type Route } from './server/route.ts'

const documentFor = openApiDocument(() => ROUTES)

const OPEN: Route[] = [
  get('/healthz', {
    id: 'getHealth',
    summary: 'Reports whether the store answers',
    access: 'all',
    answers: ok('Health', 'The store answers'),
    async run({ hq }) {
      await hq.store.jobs.pausedQueues()
      return json({ status: 'ok' })
    },
  }),
  get('/api/v1/openapi.json', {
    id: 'getDocument',
    summary: 'Returns this document',
    access: 'all',
    answers: { 200: { description: 'OpenAPI 3.1', content: { 'application/json': { type: 'object' } } } },
    run: async ({ base }) => jsonText(await documentFor(base)),
  }),
]

export const ROUTES: readonly Route[] = [
  ...ALL_JOBS_ROUTES,
  ...JOB_ROUTES,
  EVENTS_ROUTE,
  ...DEFERRED_ROUTES,
  IMPORT_ROUTE,
  ...TASK_ROUTES,
  ...TASK_ACTION_ROUTES,
  STREAM_ROUTE,
  ...FILE_ROUTES,
  ...ORDERED_ROUTES,
  ...JOB_SET_ROUTES,
  ...QUEUE_ROUTES,
  ...LIMIT_ROUTES,
  ...JOB_EDIT_ROUTES,
  CLASS_ROUTE,
  ...PROCESS_ROUTES,
  RUNNING_ROUTE,
  ...BATCH_ROUTES,
  ...CRON_ROUTES,
  ...UNIQUE_LOCK_ROUTES,
  ...PAGE_ROUTES,
  ...LOGIN_ROUTES,
  APP_ROUTE,
  ABOUT_ROUTE,
  ...STATS_ROUTES,
  ...METRICS_ROUTES,
  PROMETHEUS_ROUTE,
  ...OPEN,
]
