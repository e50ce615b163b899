/**
 * The schemas of the HTTP API by name. The OpenAPI document and the types of the dashboard are made from them, and bodies
 * are checked with them.
 */

import type * as v from 'valibot'
import * as batches from './schemas/batches.ts'
import { object } from './schemas/building-blocks.ts'
import * as crons from './schemas/crons.ts'
import * as jobs from './schemas/jobs.ts'
import * as limits from './schemas/limits.ts'
import * as newJobs from './schemas/new-jobs.ts'
import * as ordered from './schemas/ordered.ts'
import * as queues from './schemas/queues.ts'
import * as stats from './schemas/stats.ts'
import * as tasks from './schemas/tasks.ts'

export const SCHEMAS = {
  Error: object({ error: tasks.Problem }),
  ...newJobs,
  ...jobs,
  ...queues,
  ...batches,
  ...crons,
  ...limits,
  ...tasks,
  ...ordered,
  ...stats,
}

export type SchemaName = keyof typeof SCHEMAS
/** A value as the server makes it: its times are dates. */
export type Made<Name extends SchemaName> = v.InferInput<(typeof SCHEMAS)[Name]>
/** A value as its JSON brings it: its times are ISO 8601 strings. */
export type Json<Name extends SchemaName> = v.InferOutput<(typeof SCHEMAS)[Name]>
