/** Schemas of tasks. */

import * as v from 'valibot'
import { MOST_ROWS } from '../../job/payload.ts'
import { EVENT_STATUSES, type EventStatus, UNSUCCESSFUL_STATUSES } from '../../store/contract/task-events.ts'
import { TASK_STATES } from '../../store/contract/tasks.ts'
import { describedOption, NEW_TASK_OPTIONS } from '../../tasks/import-options.ts'
import { LINK_RIGHTS } from '../../tasks/link.ts'
import { FILE_FORMATS } from '../../tasks/spreadsheet/format.ts'
import * as s from './building-blocks.ts'

export const Problem = s.object({
  code: s.described(v.pipe(s.text, v.regex(/^[A-Z_]+$/)), 'stable code; see the reference of errors'),
  message: s.text,
  details: s.optional(s.anyObject),
})

const id = v.pipe(s.text, v.regex(/^[0-9a-f]{16}$/))
const filled = v.pipe(s.text, v.minLength(1))
const duration = v.union([v.pipe(s.number, v.gtValue(0)), filled])
const format = s.orNull(s.oneOf(FILE_FORMATS))
const maxFailures = s.described(
  s.orNull(v.union([s.count, v.pipe(s.text, v.regex(/^\d+(\.\d+)?\s*%$/))])),
  "the most rejected rows, as a number or a share ('5%'); null: no limit",
)

const optionOf = <S extends v.GenericSchema>(name: keyof typeof NEW_TASK_OPTIONS, schema: S) =>
  s.described(s.optional(schema), describedOption(NEW_TASK_OPTIONS[name]))

const settings = {
  name: optionOf('name', filled),
  window: optionOf('window', s.positive),
  concurrency: optionOf('concurrency', s.positive),
  maxFailures: optionOf('maxFailures', maxFailures),
  onMaxFailures: optionOf('onMaxFailures', s.oneOf(NEW_TASK_OPTIONS.onMaxFailures.kind)),
}

export const NewTask = s.object({
  job: s.must(filled, 'the name of a job'),
  args: s.must(
    s.described(s.list(s.anyList), 'a list of arguments for each row'),
    'a list with a list of arguments for each row',
  ),
  ...settings,
  queue: optionOf('queue', filled),
  rowsPerJob: optionOf('rowsPerJob', v.pipe(s.positive, v.maxValue(MOST_ROWS))),
  keepArgs: optionOf('keepArgs', s.oneOf(NEW_TASK_OPTIONS.keepArgs.kind)),
  keep: optionOf('keep', duration),
  lostAfter: optionOf('lostAfter', duration),
  meta: s.described(
    s.optional(s.anyObject),
    'stored with the task, at most 4 kB; its members with a string or a whole number, at most four, find the task',
  ),
  onDone: s.described(s.optional(filled), 'the name of a job that is pushed when all rows have ended'),
  onFailure: s.described(s.optional(filled), 'the name of a job that is pushed at the first rejected row'),
})
const { args: _, rowsPerJob: __, ...newExport } = NewTask.entries
export const NewExport = s.object({
  ...newExport,
  pages: s.must(
    s.described(s.list(s.anyList), 'a list of arguments for each page'),
    'a list with a list of arguments for each page',
  ),
  format: s.described(s.optional(s.oneOf(FILE_FORMATS)), 'the format of the file; default csv'),
  columns: s.described(s.optional(s.list(s.text)), 'the columns of the file, in order'),
})
export const TaskSettings = s.described(s.object(settings), 'Members that are left out stay unchanged.')

const status = {
  id,
  name: s.text,
  job: s.text,
  queue: s.text,
  state: s.oneOf(TASK_STATES),
  run: s.positive,
  runAt: s.described(s.time, 'when the run began'),
  total: s.count,
  backlog: s.count,
  retrying: s.count,
  deferred: s.described(s.count, 'rows that wait until another system ends them; part of `counts.working`'),
  window: s.described(s.positive, 'the most rows (with rowsPerJob: jobs) in the queue and running at the same time'),
  rowsPerJob: s.orNull(s.positive),
  maxFailures,
  onMaxFailures: s.oneOf(['pause', 'cancel']),
  reason: s.described(s.optional(s.text), 'why it is paused, cancelled or interrupted, in English'),
  cause: s.described(s.optional(s.object({ code: s.text, params: s.anyObject })), 'the reason in no language'),
  counts: s.object(
    Object.fromEntries(EVENT_STATUSES.map((status) => [status, s.count])) as Record<EventStatus, typeof s.count>,
  ),
  percent: v.pipe(s.amount, v.maxValue(100)),
  createdAt: s.time,
  finishedAt: s.orNull(s.time),
  ratePerSecond: s.amount,
  etaSeconds: s.orNull(s.amount),
}

export const TaskEvent = s.object({
  index: s.count,
  jid: s.text,
  job: s.text,
  number: s.described(s.orNull(s.count), 'the row of its file; null for a task without a file'),
  status: s.oneOf(EVENT_STATUSES),
  args: s.orNull(s.anyList),
  attempts: s.count,
  code: s.orNull(s.text),
  messages: s.list(s.message),
  startedAt: s.orNull(s.time),
  finishedAt: s.orNull(s.time),
  result: s.optional(v.unknown()),
  deferredUntil: s.described(s.optional(s.time), 'until when the row waits for another system to end it'),
})
export const TaskEventList = s.pageOf(TaskEvent)

const meta = s.described(s.optional(s.anyObject), 'what the app stored with the task; only for operators')

export const TaskStatus = s.object(status)
export const TaskList = s.pageOf(s.object({ ...status, meta }))
export const TaskResumed = s.object({
  ...status,
  hint: s.described(s.optional(s.text), 'why the task will pause again'),
})
export const TaskStatusWithRejected = s.object({
  ...status,
  meta,
  format: s.described(format, 'for an import: the format of its file'),
  export: s.described(format, 'for an export: the format of its file'),
  file: s.described(
    s.optional(s.object({ name: s.optional(s.text), bytes: s.optional(s.count), by: s.optional(s.text) })),
    'for an import: the name and the size of its file; `by` is the submitter: the login that uploaded it, or the person whom the app names; only for operators',
  ),
  onDone: s.described(s.optional(s.text), 'the job that is pushed when all rows have ended; only for operators'),
  onFailure: s.described(s.optional(s.text), 'the job that is pushed at the first rejected row; only for operators'),
  rejected: s.optional(TaskEventList),
})

export const TaskReasons = s.object({
  items: s.list(
    s.object({
      status: s.oneOf(UNSUCCESSFUL_STATUSES),
      code: s.described(s.orNull(s.text), 'null for rows without a code, and for otherCodes'),
      otherCodes: s.described(
        s.optional(v.literal(true)),
        'rows whose codes are not counted one by one (Redis, above 255 codes)',
      ),
      count: s.count,
      samples: s.list(s.object({ index: s.count, number: s.orNull(s.count), message: s.orNull(s.text) })),
    }),
  ),
  total: s.described(s.count, 'codes of all statuses; `limit` leaves out the least frequent'),
  next: v.null(),
})

export const TaskRate = s.object({
  from: s.described(s.time, 'the start of the run'),
  to: s.described(s.time, 'now, or the end of the task'),
  step: s.described(s.count, 'seconds from point to point'),
  isSample: s.described(s.boolean, 'true for a large task: the rates are estimated from 1,000 of its rows'),
  points: s.list(s.object({ at: s.time, finished: s.amount, failed: s.amount, error: s.amount })),
})

// Imports ------------------------------------------------------------------------------------------------------

export const DryRun = s.object({
  format: s.oneOf(FILE_FORMATS),
  encoding: s.described(s.orNull(s.text), 'the encoding in which its text is read'),
  delimiter: s.described(s.orNull(s.text), 'the delimiter of a CSV file'),
  sheet: s.described(s.orNull(s.text), 'the sheet of a workbook that is read'),
  sheets: s.described(s.orNull(s.list(s.text)), 'all sheets of a workbook'),
  columns: s.described(s.orNull(s.list(s.text)), "the file's columns in order"),
  fields: s.described(s.list(s.text), 'the fields that the schema of the job takes, if it tells them'),
  mapping: s.described(
    s.orNull(v.record(v.string(), s.text)),
    'how the columns became fields; null: each has its own name',
  ),
  suggested: s.described(v.record(v.string(), s.text), 'columns whose names are like that of a field, with this field'),
  complete: s.described(s.boolean, 'false when the file ended early, at the last of `problems`'),
  total: s.count,
  valid: s.count,
  invalid: s.count,
  problems: s.list(
    s.object({
      ...{ row: s.orNull(s.count), code: s.text, message: s.text },
      details: s.described(s.optional(s.anyObject), 'of the error that ended the reading'),
    }),
  ),
  groups: s.described(
    s.list(
      s.object({ code: s.text, field: s.orNull(s.text), message: s.text, count: s.positive, rows: s.list(s.count) }),
    ),
    'all problems of rows, counted by their message, with the first 5 rows; the most frequent first',
  ),
  preview: s.described(
    s.list(s.object({ row: s.count, value: v.unknown() })),
    'what the handler gets for the first 10 valid rows',
  ),
  sample: s.described(
    s.list(s.object({ row: s.count, values: v.unknown() })),
    'the first 10 rows as they stand in the file, valid or not',
  ),
})
export const TaskAccepted = s.object({ id, total: s.count })
export const TaskImported = s.object({ id, total: s.count, encoding: s.optional(s.text), error: s.optional(Problem) })
export const ImportResult = v.union([DryRun, TaskAccepted])

// Actions ------------------------------------------------------------------------------------------------------

export const TaskLink = s.object({ token: s.text, rights: s.oneOf(LINK_RIGHTS), url: s.text })
export const TaskCancel = s.object({ reason: s.optional(s.must(s.text, 'a string')) })

export const RowFinish = s.object({
  result: s.described(s.optional(v.unknown()), 'the result of the row, at most 16 kB of JSON'),
})
export const RowFail = s.object({
  message: s.must(filled, 'a string that is not empty'),
  code: s.described(s.optional(s.must(filled, 'a string that is not empty')), 'groups rows by reason'),
})
export const RowEnded = s.object({
  jid: s.text,
  changed: s.described(s.boolean, 'false when the row had ended before'),
  status: s.oneOf(EVENT_STATUSES),
  code: s.orNull(s.text),
})

export const TaskRetry = s.rule(
  s.object({
    status: s.described(
      s.optional(s.must(s.list(s.oneOf(UNSUCCESSFUL_STATUSES)), `a list of ${UNSUCCESSFUL_STATUSES.join(', ')}`)),
      'default failed and error',
    ),
    code: s.described(
      s.optional(s.must(s.orNull(s.text), 'a string, or null for rows without a code')),
      'only rows with this code; null: rows without a code',
    ),
    otherCodes: s.described(
      s.optional(s.must(s.boolean, 'true or false')),
      'only rows with codes that /reasons counts together',
    ),
    rows: s.described(
      s.optional(
        s.must(
          s.list(
            s.object({ index: s.count, args: s.described(s.optional(s.anyList), 'default: the arguments it had') }),
          ),
          'a list of { index, args: […] }, or { index } to keep the arguments',
        ),
      ),
      'these rows instead, each with other arguments, or unchanged',
    ),
  }),
  ({ rows, ...others }) => rows === undefined || Object.keys(others).length === 0,
  "`rows` can't be combined with `status`, `code` or `otherCodes`",
)
export const TaskRetried = s.object({
  run: s.positive,
  rows: s.described(s.count, 'rows that run again'),
  unchanged: s.described(s.count, 'the part of them that came back unchanged'),
  finished: s.described(s.count, 'rows that had finished; they stay unchanged'),
  open: s.described(s.count, 'rows that wait or run; they stay unchanged'),
  dropped: s.described(s.count, 'rows whose arguments are no longer kept; they stay unchanged'),
  refused: s.described(s.count, 'rows of a corrected report that are still wrong; they stay unchanged'),
})
export const TaskRetryDelayed = s.object({
  rows: s.described(s.count, 'rows that the retry selects at this moment'),
  undo: s.described(s.text, 'the token for POST …/retry/undo'),
  startsAt: s.time,
})
export const TaskRetryAnswer = v.union([TaskRetried, TaskRetryDelayed])
export const TaskRetryUndo = s.object({ undo: s.must(id, 'the token from the answer to the retry') })
export const TaskRetryUndone = s.object({ undone: s.described(s.boolean, 'false when the retry has started') })
