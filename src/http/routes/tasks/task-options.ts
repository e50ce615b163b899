/** What a request may say of a task: the same in a body, in a query and in the document. */

import { MOST_ROWS } from '../../../job/payload.ts'
import type { TaskOptions } from '../../../tasks/options.ts'
import type { TaskSettings } from '../../../tasks/task.ts'
import type { Parameter } from '../../server/parameter.ts'

type Schema = Record<string, unknown>

const text = { type: 'string', minLength: 1 }
const rows = { type: 'integer', minimum: 1 }
const duration = { anyOf: [{ type: 'number', exclusiveMinimum: 0 }, text] }

export const MAX_FAILURES: Schema = {
  description: "so many rows may be failed or broken, or such a share ('5%'); null: all",
  anyOf: [{ type: 'integer', minimum: 0 }, { type: 'string', pattern: '^\\d+(\\.\\d+)?\\s*%$' }, { type: 'null' }],
}

/** Jobs that are called at its end, and how many rows it takes, are no matter of who asks from afar. */
type OptionName = Exclude<keyof TaskOptions, 'onDone' | 'onFailure' | 'maxRows'>

const SCHEMAS: Record<OptionName, Schema> = {
  name: { ...text, description: "for people; default that of the file, or the job's" },
  queue: { ...text, description: "default the job's" },
  window: { ...rows, description: 'most rows in the queue and in work at a time' },
  concurrency: { ...rows, description: 'most rows in work at a time' },
  rowsPerJob: {
    ...rows,
    maximum: MOST_ROWS,
    description: 'so many rows are one job, whose handler gets them as a list',
  },
  maxFailures: MAX_FAILURES,
  onMaxFailures: { enum: ['pause', 'cancel'], description: 'what happens when more are; default pause' },
  keepArgs: { enum: ['rejected', 'all', 'none'], description: 'of which rows arguments are kept; default rejected' },
  keep: { ...duration, description: "how long it is kept after its end: seconds, or '30d', the default" },
  lostAfter: {
    ...duration,
    description: "how long without progress until its rows are looked for: seconds, or '1h', the default",
  },
}

/** Of a task that is made, as members of a body. */
export const TASK_MEMBERS: Record<string, Schema> = SCHEMAS

const { name, window, concurrency, maxFailures, onMaxFailures } = SCHEMAS
/** Of one that runs. */
export const SETTING_MEMBERS: Record<keyof TaskSettings, Schema> = {
  name,
  window,
  concurrency,
  maxFailures,
  onMaxFailures,
}

/** Of a task that is made, as parameters of a query. What they mean is checked where the task is made. */
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
