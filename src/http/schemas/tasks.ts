/** Schemas of tasks. */

import * as v from 'valibot'
import { MOST_ROWS } from '../../job/payload.ts'
import { EVENT_STATUSES, type EventStatus, REJECTED_STATUSES } from '../../store/contract/task-events.ts'
import { TASK_STATES } from '../../store/contract/tasks.ts'
import { describedOption, NEW_TASK_OPTIONS } from '../../tasks/import-options.ts'
import { FILE_FORMATS } from '../../tasks/spreadsheet/format.ts'
import { LINK_RIGHTS } from '../access/link.ts'
import {
  amount,
  anyList,
  anyObject,
  boolean,
  count,
  described,
  list,
  must,
  number,
  object,
  oneOf,
  optional,
  orNull,
  pageOf,
  positive,
  rule,
  text,
  time,
} from './building-blocks.ts'

export const Problem = object({
  code: described(v.pipe(text, v.regex(/^[A-Z_]+$/)), 'stable code; see the reference of errors'),
  message: text,
  details: optional(anyObject),
})

const id = v.pipe(text, v.regex(/^[0-9a-f]{16}$/))
const filled = v.pipe(text, v.minLength(1))
const duration = v.union([v.pipe(number, v.gtValue(0)), filled])
const format = orNull(oneOf(FILE_FORMATS))
const maxFailures = described(
  orNull(v.union([count, v.pipe(text, v.regex(/^\d+(\.\d+)?\s*%$/))])),
  "the most rejected rows, as a number or a share ('5%'); null: no limit",
)

const optionOf = <S extends v.GenericSchema>(name: keyof typeof NEW_TASK_OPTIONS, schema: S) =>
  described(optional(schema), describedOption(NEW_TASK_OPTIONS[name]))

const settings = {
  name: optionOf('name', filled),
  window: optionOf('window', positive),
  concurrency: optionOf('concurrency', positive),
  maxFailures: optionOf('maxFailures', maxFailures),
  onMaxFailures: optionOf('onMaxFailures', oneOf(NEW_TASK_OPTIONS.onMaxFailures.kind)),
}

export const NewTask = object({
  job: must(filled, 'the name of a job'),
  args: must(
    described(list(anyList), 'a list of arguments for each row'),
    'a list with a list of arguments for each row',
  ),
  ...settings,
  queue: optionOf('queue', filled),
  rowsPerJob: optionOf('rowsPerJob', v.pipe(positive, v.maxValue(MOST_ROWS))),
  keepArgs: optionOf('keepArgs', oneOf(NEW_TASK_OPTIONS.keepArgs.kind)),
  keep: optionOf('keep', duration),
  lostAfter: optionOf('lostAfter', duration),
})
export const TaskSettings = described(object(settings), 'Members that are left out stay unchanged.')

const status = {
  id,
  name: text,
  job: text,
  queue: text,
  state: oneOf(TASK_STATES),
  run: positive,
  runAt: described(time, 'when the run began'),
  total: count,
  backlog: count,
  retrying: count,
  window: described(positive, 'the most rows (with rowsPerJob: jobs) in the queue and running at the same time'),
  rowsPerJob: orNull(positive),
  maxFailures,
  onMaxFailures: oneOf(['pause', 'cancel']),
  reason: optional(text),
  counts: object(
    Object.fromEntries(EVENT_STATUSES.map((status) => [status, count])) as Record<EventStatus, typeof count>,
  ),
  percent: v.pipe(amount, v.maxValue(100)),
  createdAt: time,
  finishedAt: orNull(time),
  ratePerSecond: amount,
  etaSeconds: orNull(amount),
}

export const TaskEvent = object({
  index: count,
  jid: text,
  job: text,
  number: described(orNull(count), 'the row of its file; null for a task without a file'),
  status: oneOf(EVENT_STATUSES),
  args: orNull(anyList),
  attempts: count,
  code: orNull(text),
  messages: list(object({ at: time, text })),
  startedAt: orNull(time),
  finishedAt: orNull(time),
  result: optional(v.unknown()),
})
export const TaskEventList = pageOf(TaskEvent)

export const TaskStatus = object(status)
export const TaskList = pageOf(TaskStatus)
export const TaskResumed = object({ ...status, hint: described(optional(text), 'why the task will pause again') })
export const TaskStatusWithRejected = object({
  ...status,
  format: described(format, 'for an import: the format of its file'),
  export: described(format, 'for an export: the format of its file'),
  rejected: optional(TaskEventList),
})

export const TaskReasons = object({
  items: list(
    object({
      status: oneOf(REJECTED_STATUSES),
      code: described(orNull(text), 'null for rows without a code, and for otherCodes'),
      otherCodes: described(
        optional(v.literal(true)),
        'rows whose codes are not counted one by one (Redis, above 255 codes)',
      ),
      count,
      samples: list(object({ index: count, number: orNull(count), message: orNull(text) })),
    }),
  ),
  next: v.null(),
})

// Imports ------------------------------------------------------------------------------------------------------

export const DryRun = object({
  format: oneOf(FILE_FORMATS),
  encoding: described(orNull(text), 'the encoding in which its text is read'),
  columns: orNull(list(text)),
  complete: described(boolean, 'false when the file ended early, at the last of `problems`'),
  total: count,
  valid: count,
  invalid: count,
  problems: list(object({ row: orNull(count), code: text, message: text })),
  preview: list(object({ row: count, value: v.unknown() })),
})
export const TaskAccepted = object({ id, total: count })
export const TaskImported = object({ id, total: count, encoding: optional(text), error: optional(Problem) })
export const ImportResult = v.union([DryRun, TaskAccepted])

// Actions ------------------------------------------------------------------------------------------------------

export const TaskLink = object({ token: text, rights: oneOf(LINK_RIGHTS), url: text })
export const TaskCancel = object({ reason: optional(must(text, 'a string')) })

export const TaskRetry = rule(
  object({
    status: described(
      optional(must(list(oneOf(REJECTED_STATUSES)), `a list of ${REJECTED_STATUSES.join(', ')}`)),
      'default failed and error',
    ),
    code: described(
      optional(must(orNull(text), 'a string, or null for rows without a code')),
      'only rows with this code; null: rows without a code',
    ),
    otherCodes: described(
      optional(must(boolean, 'true or false')),
      'only rows with codes that /reasons counts together',
    ),
    rows: described(
      optional(
        must(
          list(object({ index: count, args: described(optional(anyList), 'default: the arguments it had') })),
          'a list of { index, args: […] }, or { index } to keep the arguments',
        ),
      ),
      'these rows instead, each with other arguments, or unchanged',
    ),
  }),
  ({ rows, ...others }) => rows === undefined || Object.keys(others).length === 0,
  "`rows` can't be combined with `status`, `code` or `otherCodes`",
)
export const TaskRetried = object({
  run: positive,
  rows: described(count, 'rows that run again'),
  unchanged: described(count, 'the part of them that came back unchanged'),
  finished: described(count, 'rows that had finished; they stay unchanged'),
  open: described(count, 'rows that wait or run; they stay unchanged'),
  dropped: described(count, 'rows whose arguments are no longer kept; they stay unchanged'),
  refused: described(count, 'rows of a corrected report that are still wrong; they stay unchanged'),
})
export const TaskRetryDelayed = object({
  rows: described(count, 'rows that the retry selects at this moment'),
  undo: described(text, 'the token for POST …/retry/undo'),
  startsAt: time,
})
export const TaskRetryAnswer = v.union([TaskRetried, TaskRetryDelayed])
export const TaskRetryUndo = object({ undo: must(id, 'the token from the answer to the retry') })
export const TaskRetryUndone = object({ undone: described(boolean, 'false when the retry has started') })
