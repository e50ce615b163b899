/** Routes of job metrics. */

import { MOST_MINUTES, MOST_PERCENTILES } from '../live/top-jobs.ts'
import { json } from '../server/answer.ts'
import { integer, text } from '../server/parameter.ts'
import { type Route, route } from '../server/route.ts'
import { count, list, number, object, orNull, ref, type Schema, text as textSchema, time } from '../server/schema.ts'

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
  route({
    method: 'GET',
    path: '/api/v1/metrics',
    summary: 'Lists the job classes that took the most time',
    query: {
      minutes: optional(MOST_MINUTES, 'the last minutes, including this one; default 60'),
      hours: optional(MOST_HOURS, 'instead of minutes: the last hours, in steps of ten minutes'),
      filter: text('only classes whose names contain this text'),
    },
    answers: { 200: { description: 'Classes', content: { 'application/json': 'TopJobs' } } },
    run: async ({ server, query }) => json(await server.topJobs.of(query)),
  }),
  route({
    method: 'GET',
    path: '/api/v1/metrics/{class}',
    summary: 'Returns one job class, minute by minute',
    query: { minutes: integer(1, MOST_MINUTES, 60, 'the last minutes, including this one') },
    answers: { 200: { description: 'Its runs', content: { 'application/json': 'JobMetrics' } } },
    run: async ({ hq, path, query }) => json(await hq.metrics.job(path.class ?? '', query)),
  }),
]

const seconds = { ...number, minimum: 0 }
const percentile = { ...orNull(seconds), description: 'seconds; null without a successful run' }
const step = { at: time, processed: count, failed: count, seconds }
const figures = { name: textSchema, processed: count, failed: count, success: count, seconds, average: seconds }
const percentiles = { p50: percentile, p95: percentile, p99: percentile }
const window = { from: time, to: time, deploys: list(ref('Deploy')) }

export const METRICS_SCHEMAS: Record<string, Schema> = {
  TopJobs: object({
    ...window,
    step: { ...count, description: 'seconds from step to step' },
    jobs: {
      ...list(object({ ...figures, ...percentiles, steps: list(object(step)) })),
      description: `sorted by total time; percentiles for the first ${MOST_PERCENTILES}, over the last 8 hours at most`,
    },
  }),
  JobMetrics: object({
    ...figures,
    ...percentiles,
    ...window,
    histogram: list(object({ label: textSchema, count })),
    minutes: list(object({ ...step, histogram: list(count) })),
  }),
}
