/** Which rejected rows are to run again, and as what. */

import { checkArgs } from '../job/args.ts'
import { HighkiqError } from '../job/errors.ts'
import { memberText, stringifyJson } from '../job/json.ts'
import { checkOptions, given } from '../job/options.ts'
import { editPayload, floatsOf } from '../job/payload.ts'
import { checkReadable } from '../job/readable.ts'
import {
  type CodeFilter,
  type EventRecord,
  isRejected,
  REJECTED_STATUSES,
  type RejectedStatus,
  type RetryRow,
  type TaskRecord,
} from '../store/contract.ts'
import type { ReportedRow } from './corrected-report.ts'
import { CODE_OPTIONS, checkCode, checkStatuses, codeFilterOf, eventPages, inPages, paramsOf } from './event.ts'
import { checkImport, checkSource, type ImportRows } from './import.ts'
import { metaOf } from './meta.ts'
import { retryTransient } from './retry-transient.ts'
import { Revalidation } from './revalidation.ts'
import { asOneValue, checkReadableArgs, isIterable, type Row, type TaskHost, unknownTask } from './rows.ts'
import type { Source } from './spreadsheet/source.ts'

/** A row that is to run again. */
export interface CorrectedRow {
  index: number
  /** The handler's arguments; left out, those that it had, as they are kept: nothing of them is written anew. */
  args?: unknown[]
  /** The row as it came, for the report, when that is not what the handler gets. */
  source?: object
}

export interface RetryOptions extends CodeFilter {
  /** Which rejected rows; default `failed` and `error`. */
  status?: RejectedStatus[]
  /** These instead, each with other arguments, or as it was; each index once. */
  rows?: Iterable<CorrectedRow> | AsyncIterable<CorrectedRow>
  /** The rows of this corrected report instead: a path, Buffer or stream of a CSV, XLSX or NDJSON file. */
  report?: Source
  /**
   * How the report's rows are read and checked, where that is not as at their import. Without a report only `validate`,
   * for rows that one had refused before.
   */
  as?: ImportRows
}

export interface Retried {
  run: number
  /** Rows that run again. */
  rows: number
  /** Of these, given rows and rows of a report that came back as they were. */
  unchanged: number
  /** Given rows, and rows of a report, that have finished: they stay as they are. */
  finished: number
  /** The same of rows that wait or run already. */
  open: number
  /** Rows whose arguments are not kept any more: they stay as they were. */
  dropped: number
  /**
   * Rows that `validate` refused once more, of a corrected report or of those that it had refused before; also the
   * latter while no `validate` is at hand. They stay as they were.
   */
  refused: number
}

/** A row that is to run again. */
export interface SelectedRow extends RetryRow {
  /** It may have an entry in the dead set. */
  isDead: boolean
  isSame?: boolean
}

/** @throws INVALID_OPTION */
export function checkRetry(options: RetryOptions): void {
  checkOptions('task.retry', options, { status: null, ...CODE_OPTIONS, rows: null, report: null, as: null })
  const { status, code, otherCodes, rows, report, as } = options
  checkCode('task.retry', options)
  if (status !== undefined) checkStatuses('task.retry', status, REJECTED_STATUSES)
  const selectors = Object.entries({
    'status or code': status !== undefined || code !== undefined || otherCodes ? true : undefined,
    rows,
    report,
  })
  const told = selectors.filter(([, value]) => value !== undefined).map(([name]) => name)
  if (told.length > 1) throw invalid(`say which rows in one way: by ${told.join(', or by ')}`)
  if (as !== undefined) checkImport('task.retry: as', as)
  const isForReport = Object.keys(given(as ?? {})).some((name) => name !== 'validate')
  if (as !== undefined && report === undefined && isForReport) {
    throw invalid('`as` says how a report is read: name it, too (report)')
  }
  if (rows !== undefined && !isIterable(rows))
    throw invalid('rows is a list of { index, args: […] }, or { index } for one as it was')
  if (report !== undefined) checkSource('task.retry: report', report)
}

/** Rows that are rejected and can run again; the others are counted. */
export async function selectRows(
  host: TaskHost,
  record: TaskRecord,
  options: RetryOptions,
  retried: Retried,
): Promise<AsyncGenerator<SelectedRow, void, void>> {
  const { rows, report, as = {} } = options
  const { validate = host.optionsOf(record.job).validate } = as
  const asItWas = asKept(host, record, new Revalidation(record, validate, host.now), retried)
  if (rows) return chosen(host, record, givenRows(host, record, rows), retried, asItWas)
  if (report === undefined) return rejectedRows(host, record, options, asItWas)
  if (metaOf(record).validated && !validate) throw unvalidated(record)
  const { openReport } = await import('./corrected-report.ts')
  // What can be read twice is: a fault in it is known before any row runs again.
  if (typeof report === 'string' || report instanceof Uint8Array) {
    const { validate: _, ...unchecked } = as
    const check = await openReport(report, record, unchecked, { ...host, optionsOf: () => ({}) })
    for await (const { event, row, number } of check.rows)
      if (row) inPayload(host.client, record, event, row.args, number)
  }
  return chosen(host, record, (await openReport(report, record, as, host)).rows, retried)
}

/** A rejected row with the arguments that it had; undefined: it can't run with them, and is counted. */
type AsItWas = (event: EventRecord) => Promise<SelectedRow | undefined>

function asKept(
  { client }: Pick<TaskHost, 'client'>,
  record: TaskRecord,
  validation: Revalidation,
  retried: Retried,
): AsItWas {
  return async (event) => {
    const { index, args, status } = event
    if (args === null) {
      retried.dropped++
      return undefined
    }
    if (!validation.isNeeded(event)) return { index, isDead: status === 'error' }
    const again = await validation.again(event)
    if (again) return asCorrected(client, record, event, again)
    retried.refused++
    return undefined
  }
}

async function* rejectedRows(
  { store }: TaskHost,
  record: TaskRecord,
  { status = ['failed', 'error'], ...options }: RetryOptions,
  asItWas: AsItWas,
): AsyncGenerator<SelectedRow, void, void> {
  const filter = { status: [...status], ...codeFilterOf(options) }
  for await (const events of eventPages(store, record.id, filter)) {
    for (const event of events) {
      const row = await asItWas(event)
      if (row) yield row
    }
  }
}

/** One that was named: as what, or undefined: as it was. */
type NamedRow = Omit<ReportedRow, 'row'> & { row: Row | undefined }

async function* givenRows(
  { store }: TaskHost,
  { id, total }: TaskRecord,
  rows: NonNullable<RetryOptions['rows']>,
): AsyncGenerator<NamedRow, void, void> {
  const seen = new Set<number>()
  for await (const page of inPages(rows)) {
    for (const row of page) {
      checkRow(row)
      if (row.index >= total) throw invalid(`task ${id} has ${total} rows, none with index ${row.index}`)
      if (seen.has(row.index)) throw invalid(`the row with index ${row.index} is given twice`)
      seen.add(row.index)
    }
    const indexes = page.map(({ index }) => index)
    const found = await retryTransient(() => store().tasks.events(id, { indexes, limit: indexes.length }))
    const events = new Map(found.map((event) => [event.index, event]))
    for (const { index, args, source } of page) {
      const event = events.get(index)
      if (!event) throw unknownTask(id)
      const isSame = args === undefined || stringifyJson(args) === stringifyJson(paramsOf(event))
      yield { event, isSame, row: args && { args, ...(source === undefined ? {} : { source }) } }
    }
  }
}

/** @throws INVALID_OPTION, INVALID_ARGS */
function checkRow(row: unknown): asserts row is CorrectedRow {
  const { index, args, source } = (row ?? {}) as Partial<CorrectedRow>
  const isIndex = Number.isSafeInteger(index) && (index as number) >= 0
  const isAsItWas = args === undefined && source === undefined
  const isSource = source === undefined || (typeof source === 'object' && source !== null)
  if (!isIndex || !(isAsItWas || Array.isArray(args)) || !isSource) {
    throw invalid(
      'each of rows is { index, args: […] }, and a `source` that is an object if there is one; or { index }, for one as it was',
    )
  }
  if (args !== undefined) checkArgs(args, `task.retry: row ${index}`)
}

async function* chosen(
  { client }: TaskHost,
  record: TaskRecord,
  rows: AsyncGenerator<ReportedRow | NamedRow, void, void>,
  retried: Retried,
  asItWas: AsItWas = async () => undefined,
): AsyncGenerator<SelectedRow, void, void> {
  for await (const { event, row, number, isSame = false } of rows) {
    const { status } = event
    if (status === 'finished') retried.finished++
    else if (!isRejected(status)) retried.open++
    else if (row?.rejected) retried.refused++
    else if (row) yield { ...asCorrected(client, record, event, row, number), isSame }
    else {
      const unchanged = await asItWas(event)
      if (unchanged) yield { ...unchanged, isSame }
    }
  }
}

function asCorrected(
  client: TaskHost['client'],
  record: TaskRecord,
  event: EventRecord,
  row: Row,
  number?: number,
): SelectedRow {
  const { index, status, source: before } = event
  const args = inPayload(client, record, event, row.args, number)
  client.weigh(event.job ?? record.job, args)
  // What it came from would else be told of what it was before.
  const source = row.source ?? (before === null ? undefined : (row.args[0] as object))
  const beside = source === undefined ? {} : { source: stringifyJson(source) }
  return { index, args, ...beside, isDead: status === 'error' }
}

/** Arguments as the row keeps them: bare, or in the payload that says what else its job is. */
function inPayload(
  { wire }: TaskHost['client'],
  { rowsPerJob, job: ofTask }: TaskRecord,
  { args: before, job, index }: EventRecord,
  args: unknown[],
  row: number | undefined,
): string {
  if (before?.startsWith('{')) {
    const edited = memberText(before, 'hk_list') === undefined ? args : [asOneValue(args)]
    const text = editPayload(before, { args: edited }, wire)
    checkReadable(text, job ?? ofTask)
    return text
  }
  if (job === null) {
    const text = stringifyJson(rowsPerJob === null ? args : asOneValue(args), floatsOf(wire))
    checkReadableArgs(text, ofTask, rowsPerJob !== null)
    return text
  }
  const what = `the row with index ${index} is of job ${job}, and what else that job was told is not kept (keepArgs): it can't run again`
  if (row === undefined) throw invalid(what)
  throw new HighkiqError('INVALID_FILE', `row ${row}: ${what}`, { row, index })
}

/** Commands and requests have words of their own for its end. */
function unvalidated({ id, job }: TaskRecord): HighkiqError {
  return new HighkiqError(
    'INVALID_OPTION',
    `task ${id}: its rows were validated by job ${job}: define it with its validate, or name that (as: { validate })`,
    { job },
  )
}

function invalid(message: string): HighkiqError {
  return new HighkiqError('INVALID_OPTION', `task.retry: ${message}`)
}
