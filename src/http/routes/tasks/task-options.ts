/** The options of a new task as query parameters. */

import { MOST_ROWS } from '../../../job/payload.ts'
import type { TaskOptions } from '../../../tasks/options.ts'
import type { Parameter } from '../../server/parameter.ts'

type Schema = Record<string, unknown>

const text = { type: 'string', minLength: 1 }
const rows = { type: 'integer', minimum: 1 }
const duration = { anyOf: [{ type: 'number', exclusiveMinimum: 0 }, text] }

const MAX_FAILURES: Schema = {
  description: "the most rejected rows, as a number or a share ('5%'); null: no limit",
  anyOf: [{ type: 'integer', minimum: 0 }, { type: 'string', pattern: '^\\d+(\\.\\d+)?\\s*%$' }, { type: 'null' }],
}

/** Requests can't set the jobs that run at the end of a task, nor its row limit. */
type OptionName = Exclude<keyof TaskOptions, 'onDone' | 'onFailure' | 'maxRows'>

const SCHEMAS: Record<OptionName, Schema> = {
  name: { ...text, description: 'name for people; default: the name of the file, or of the job' },
  queue: { ...text, description: 'default: the queue of the job' },
  window: { ...rows, description: 'the most rows in the queue and running at the same time' },
  concurrency: { ...rows, description: 'the most rows running at the same time' },
  rowsPerJob: {
    ...rows,
    maximum: MOST_ROWS,
    description: 'rows in one job, whose handler gets them as a list',
  },
  maxFailures: MAX_FAILURES,
  onMaxFailures: { enum: ['pause', 'cancel'], description: 'what happens above maxFailures; default pause' },
  keepArgs: { enum: ['rejected', 'all', 'none'], description: 'the rows whose arguments are kept; default rejected' },
  keep: { ...duration, description: "how long the task is kept after its end: seconds, or '30d', the default" },
  lostAfter: {
    ...duration,
    description: "how long without progress until lost rows are searched for: seconds, or '1h', the default",
  },
}

/** The options of a new task, as query parameters. The task itself checks their values. */
export const TASK_PARAMETERS = Object.fromEntries(
  Object.entries(SCHEMAS).map(([name, { description, ...schema }]) => [name, parameter(String(description), schema)]),
) as Record<OptionName, Parameter<never>>

function parameter(description: string, schema: Schema): Parameter<unknown> {
  const takesNumbers = JSON.stringify(schema).includes('"minimum"') || JSON.stringify(schema).includes('Minimum"')
  return {
    description,
    schema,
    read(value) {
      if (value === null) return undefined
      return takesNumbers && /^\d+(\.\d+)?$/.test(value) ? Number(value) : value
    },
  }
}
