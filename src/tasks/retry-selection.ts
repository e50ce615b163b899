/** Selects the rejected rows that a retry runs again, and their arguments. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { AppPort } from '../app/port.ts'
import { checkArgs, checkReadable } from '../job/args.ts'
import { HIDDEN, isSealed } from '../job/encryption.ts'
import { type HighkiqError, invalidFile, invalidOption } from '../job/errors.ts'
import { isIterable, memberText, parseJson, stringifyJson } from '../job/json.ts'
import { checkOptions, given, shown } from '../job/options.ts'
import { editPayload, floatsOf, type Payload } from '../job/payload.ts'
import {
  type CodeFilter,
  type EventRecord,
  isUnsuccessful,
  type RetryRow,
  type TaskRecord,
  UNSUCCESSFUL_STATUSES,
  type UnsuccessfulStatus,
} from '../store/contract.ts'
import type { ReportedRow } from './corrected-report.ts'
import { argsOfEvent, CODE_OPTIONS, checkCode, checkStatuses, codeFilterOf, eventPages, inPages } from './event.ts'
import { checkImport, checkSource, type ImportRows, RowCheck } from './import.ts'
import { metaOf } from './meta.ts'
import { shownEvent } from './report.ts'
import { asOneValue, checkReadableArgs, type Row, retryTransient, unknownTask } from './rows.ts'
import type { Source } from './spreadsheet/source.ts'

/** A row to run again. */
export interface CorrectedRow {
  index: number
  /** The handler's new arguments. Default: the stored ones, unchanged. */
  args?: unknown[]
  /** The row as it was read, for the report, if the handler gets something else. */
  source?: object
}

export interface RetryOptions extends CodeFilter {
  /** The statuses of the rows; default: `failed` and `error`. */
  status?: UnsuccessfulStatus[]
  /** These rows instead, each with new arguments or unchanged; each index at most once. */
  rows?: Iterable<CorrectedRow> | AsyncIterable<CorrectedRow>
  /** The rows of this corrected report instead: a path, Buffer or stream of a CSV, XLSX or NDJSON file. */
  report?: Source
  /**
   * How the report is read and checked. Default: as at the import. Without a report only `validate` is allowed; it
   * checks the rows that a `validate` refused before.
   */
  as?: ImportRows
  /**
   * Returns what a viewer sees of arguments, as for `task.report`. If it hides a part of a row, new arguments for that
   * row are refused, because they would replace what the viewer does not see.
   */
  show?: (value: unknown) => unknown
}

export interface Retried {
  run: number
  /** The number of rows that run again. */
  rows: number
  /** How many of them `rows` or the report did not change. */
  unchanged: number
  /** Rows of `rows` or of the report that have finished: they do not run again. */
  finished: number
  /** Rows of `rows` or of the report that already wait or run. */
  open: number
  /** Rows whose arguments are no longer kept: they stay as they are. */
  dropped: number
  /**
   * Rows that `validate` refused: in a corrected report, or at the import and now again. The latter also count when
   * there is no `validate` now. They do not run again.
   */
  refused: number
}

/** A rejected row to run again, for the store. */
export interface SelectedRow extends RetryRow {
  /** Whether the row may have an entry in the dead set. */
  isDead: boolean
  isSame?: boolean
}

/** @throws INVALID_OPTION */
export function checkRetry(options: RetryOptions): void {
  const known = { status: null, ...CODE_OPTIONS, rows: null, report: null, as: null, show: 'function' } as const
  checkOptions('task.retry', options, known)
  const { status, code, otherCodes, rows, report, as } = options
  checkCode('task.retry', options)
  if (status !== undefined) checkStatuses('task.retry', status, UNSUCCESSFUL_STATUSES)
  const byCode = status !== undefined || code !== undefined || otherCodes ? true : undefined
  const selectors = Object.entries({ 'status or code': byCode, rows, report })
  const used = selectors.filter(([, value]) => value !== undefined).map(([name]) => name)
  if (used.length > 1) throw invalid(`select rows in one way: by ${used.join(', or by ')}`)
  if (as !== undefined) checkImport('task.retry: as', as)
  const isForReport = Object.keys(given(as ?? {})).some((name) => name !== 'validate')
  if (as !== undefined && report === undefined && isForReport) {
    throw invalid('`as` applies only to a report: give it, too (report)')
  }
  if (rows !== undefined && !isIterable(rows))
    throw invalid(`rows must be a list of { index, args: […] }, or { index } for an unchanged row (got ${shown(rows)})`)
  if (report !== undefined) checkSource('task.retry: report', report)
}

/** Yields the rejected rows that can run again, and counts the others in `retried`. */
export async function selectRows(
  app: AppPort,
  record: TaskRecord,
  options: RetryOptions,
  retried: Retried,
): Promise<AsyncGenerator<SelectedRow, void, void>> {
  const { rows, report, as = {}, show } = options
  const { validate = app.registry.get(record.job)?.options.validate } = as
  const unchangedRow = rowUnchanged(app, record, validate, retried)
  if (rows) return rejectedOf(app, record, givenRows(app, record, rows, show), retried, unchangedRow)
  if (report === undefined) return rejectedRows(app, record, options, unchangedRow)
  if (metaOf(record).validated && !validate) throw unvalidated(record)
  const { openReport } = await import('./corrected-report.ts')
  // A path or Buffer can be read twice, so its faults are found before any row runs again.
  if (typeof report === 'string' || report instanceof Uint8Array) {
    const { validate: _, ...unchecked } = as
    const registry = { get: () => undefined }
    const checked = await openReport(report, record, unchecked, { store: app.store, now: app.now, registry }, show)
    for await (const { event, row, number } of checked) if (row) inPayload(app.client, record, event, row.args, number)
  }
  return rejectedOf(app, record, await openReport(report, record, as, app, show), retried)
}

/** Returns a rejected row with its stored arguments. Undefined, and counted, if it can't run with them. */
type Unchanged = (event: EventRecord) => Promise<SelectedRow | undefined>

/** The codes of rows that were refused before they became a job. */
const REFUSALS: readonly (string | null)[] = ['invalid', 'formula_error']

function rowUnchanged(
  { client, now }: AppPort,
  record: TaskRecord,
  validate: StandardSchemaV1 | undefined,
  retried: Retried,
): Unchanged {
  const { format, mapping, columns, validated = false } = metaOf(record)
  const check = format && validate && new RowCheck(format, { columns: mapping, header: columns, validate, now })
  return async (event) => {
    const { index, args, status, code, attempts, job, number } = event
    if (args === null) {
      retried.dropped++
      return undefined
    }
    // A row that no schema accepted is stored as its file had it.
    const isOfFile = format !== undefined && (validated || validate !== undefined)
    const wasRefused = isOfFile && status === 'failed' && attempts === 0 && job === null && REFUSALS.includes(code)
    if (!wasRefused) return { index, isDead: status === 'error' }
    const [values] = argsOfEvent(event) as [Record<string, unknown>?]
    // A row that no job can carry was not stored.
    const isStored = values && Object.keys(values).length > 0
    const row = check && isStored ? await check.read({ number: number ?? index + 1, values }) : undefined
    if (row && !row.rejected) return asCorrected(client, record, event, row)
    retried.refused++
    return undefined
  }
}

async function* rejectedRows(
  { store }: AppPort,
  record: TaskRecord,
  { status = ['failed', 'error'], ...options }: RetryOptions,
  unchangedRow: Unchanged,
): AsyncGenerator<SelectedRow, void, void> {
  const filter = { status: [...status], ...codeFilterOf(options) }
  for await (const events of eventPages(store, record.id, filter)) {
    for (const event of events) {
      const row = await unchangedRow(event)
      if (row) yield row
    }
  }
}

/** A row that the caller named. Without `row` it runs unchanged. */
type NamedRow = Omit<ReportedRow, 'row'> & { row: Row | undefined }

async function* givenRows(
  { store }: AppPort,
  { id, total }: TaskRecord,
  rows: NonNullable<RetryOptions['rows']>,
  show: RetryOptions['show'],
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
    const found = await retryTransient(() => store.tasks.events(id, { indexes, limit: indexes.length }))
    const events = new Map(found.map((event) => [event.index, event]))
    for (const { index, args, source } of page) {
      const event = events.get(index)
      if (!event) throw unknownTask(id)
      if (args !== undefined && shownEvent(event, show).isHidden) {
        throw invalid(
          `values of the row with index ${index} are hidden here: leave out its args to run it unchanged, or correct the report of the submitter's link`,
        )
      }
      const isSame = args === undefined || stringifyJson(args) === stringifyJson(argsOfEvent(event))
      yield { event, isSame, row: args && { args, ...(source === undefined ? {} : { source }) } }
    }
  }
}

/** @throws INVALID_OPTION, INVALID_ARGS */
function checkRow(row: unknown): asserts row is CorrectedRow {
  const { index, args, source } = (row ?? {}) as Partial<CorrectedRow>
  const isIndex = Number.isSafeInteger(index) && (index as number) >= 0
  const isUnchanged = args === undefined && source === undefined
  const isSource = source === undefined || (typeof source === 'object' && source !== null)
  if (!isIndex || !(isUnchanged || Array.isArray(args)) || !isSource) {
    throw invalid(
      'each of rows must be { index, args: […] }, perhaps with an object as `source`, or { index } for an unchanged row',
    )
  }
  if (args !== undefined) checkArgs(args, `task.retry: row ${index}`)
}

async function* rejectedOf(
  { client }: AppPort,
  record: TaskRecord,
  rows: AsyncGenerator<ReportedRow | NamedRow, void, void>,
  retried: Retried,
  unchangedRow: Unchanged = async () => undefined,
): AsyncGenerator<SelectedRow, void, void> {
  for await (const { event, row, number, isSame = false } of rows) {
    const { status } = event
    if (status === 'finished') retried.finished++
    else if (!isUnsuccessful(status)) retried.open++
    else if (row?.rejected) retried.refused++
    else if (row) yield { ...asCorrected(client, record, event, row, number), isSame }
    else {
      const unchanged = await unchangedRow(event)
      if (unchanged) yield { ...unchanged, isSame }
    }
  }
}

function asCorrected(
  client: AppPort['client'],
  record: TaskRecord,
  event: EventRecord,
  row: Row,
  number?: number,
): SelectedRow {
  const { index, status, source: before } = event
  const args = inPayload(client, record, event, row.args, number)
  client.writer.checkSize(event.job ?? record.job, args)
  // Otherwise the report would show the source of the old arguments.
  const source = row.source ?? (before === null ? undefined : (row.args[0] as object))
  const beside = source === undefined ? {} : { source: stringifyJson(source) }
  // Equal arguments are left out: with `args` the store sets the row's cursor to 0, and its handler would add rows
  // again.
  const given = args === event.args ? {} : { args }
  return { index, ...given, ...beside, isDead: status === 'error' }
}

/** Returns arguments as the row stores them: bare, or within the row's own payload. */
function inPayload(
  { wire }: AppPort['client'],
  { rowsPerJob, job: ofTask }: TaskRecord,
  { args: before, job, index }: EventRecord,
  wanted: unknown[],
  row: number | undefined,
): string {
  const args = withSealed(wanted, before)
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
  const what = `the row with index ${index} is of job ${job}, and the other options of that job are not kept (keepArgs): it can't run again`
  if (row === undefined) throw invalid(what)
  throw invalidFile(`row ${row}: ${what}`, { problem: 'job-not-kept', row, index, job })
}

/** Returns the arguments with the encrypted one of the row, if they have the text that is shown for it. */
function withSealed(args: unknown[], before: string | null): unknown[] {
  if (before === null || args.length < 2 || args.at(-1) !== HIDDEN) return args
  const stored = parseJson(before) as unknown[] | Payload
  const last = (Array.isArray(stored) ? stored : stored.args).at(-1)
  return isSealed(last) ? [...args.slice(0, -1), last] : args
}

function unvalidated({ id, job }: TaskRecord): HighkiqError {
  const hint = 'define it with its validate, or name that (as: { validate })'
  const message = `task ${id}: its rows were validated by job ${job}: ${hint}`
  return invalidOption(message, { problem: 'no-schema', job, option: 'as', hint })
}

function invalid(message: string): HighkiqError {
  return invalidOption(`task.retry: ${message}`)
}
