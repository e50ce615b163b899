/** Reads a corrected report and finds the rows of the task that it belongs to. */

import type { AppPort } from '../app/port.ts'
import { checkArgs } from '../job/args.ts'
import { HighkiqError, invalidFile, messageOf } from '../job/errors.ts'
import { parseJson, stringifyJson } from '../job/json.ts'
import { shown } from '../job/options.ts'
import {
  type EventRecord,
  isUnsuccessful,
  type Store,
  type TaskRecord,
  UNSUCCESSFUL_STATUSES,
} from '../store/contract.ts'
import { argsOfEvent, eventPages, inPages } from './event.ts'
import { checkImport, type ImportRows, RowCheck } from './import.ts'
import { metaOf, type TaskMeta } from './meta.ts'
import { HIDDEN_ROW, isOneObject, parseRowKey, rowOf, type Show, shownEvent } from './report.ts'
import { languageOf, type Reason, reasonNames, reasonsIn } from './report-columns.ts'
import { type Row, retryTransient } from './rows.ts'
import { cellText } from './spreadsheet/cell-text.ts'
import type { FileFormat, FileRow, OpenFile } from './spreadsheet/file.ts'
import { escapeFormula, unescapeFormula } from './spreadsheet/formula-injection.ts'
import type { Source } from './spreadsheet/source.ts'

/** A row of the report with its event. `number` is its row number in the report. */
export interface ReportedRow {
  event: EventRecord
  number?: number
  /** The row to run again; undefined if it is no longer rejected and stays as it is. */
  row?: Row
  /** Whether the report did not change the row. */
  isSame?: boolean
}

type About = Pick<TaskRecord, 'id' | 'meta' | 'job' | 'total'>

/**
 * Opens a corrected report of a task, in any format, with its rows and columns in any order. Rows that are missing from
 * it stay as they are. The others pass through `columns` and `validate` again; their defaults are those of the import
 * and of the job. Ending or leaving the loop over the rows closes the file.
 * @throws INVALID_FILE when the file is not a report of this task or lacks a column; also while iterating, with row and
 *   column, when a row key is wrong, repeated or unknown, or a row's cells are not valid arguments
 */
export async function openReport(
  source: Source,
  task: About,
  options: ImportRows,
  app: Pick<AppPort, 'store' | 'now' | 'registry'>,
  show?: Show,
): Promise<AsyncGenerator<ReportedRow, void, void>> {
  const meta = metaOf(task)
  const given = checkImport('task.retry: as', options)
  const {
    columns = meta.mapping,
    rowKey = meta.rowKey,
    validate = app.registry.get(task.job)?.options.validate,
    ...reading
  } = given
  const { openFile } = await import('./spreadsheet/file.ts')
  const rules = { ...(meta.maxRows === undefined ? {} : { maxRows: meta.maxRows }), ...reading }
  const file = await openFile(source, rules, { likely: meta.encoding, isReport: true }).catch((thrown) => {
    throw withPath(thrown, source)
  })
  try {
    if (rules.sheet === undefined) await refuseSecondWorksheet(file)
    const layout = layoutOf(file, meta, rowKey)
    const check = meta.format && new RowCheck(meta.format, { columns, header: meta.columns, validate, now: app.now })
    return reportedRows(file, new ReportReader({ store: app.store, task, layout, check, rowKey, show }), source)
  } catch (error) {
    await file.close()
    throw withPath(error, source)
  }
}

/**
 * Refuses a report that continues on a second sheet, because only the first is read.
 * @throws INVALID_FILE
 */
async function refuseSecondWorksheet(file: OpenFile): Promise<void> {
  const { sheets = [] } = file.layout()
  const { nameOfWorksheet } = await import('./spreadsheet/workbook-writer.ts')
  if (sheets.length < 2 || !sheets.includes(nameOfWorksheet(2))) return
  const hint = 'name another sheet with sheet'
  const list = sheets.map(shown).join(', ')
  const message = `the report continues on another sheet (its sheets are ${list}): save each sheet as a file, or ${hint}`
  throw invalidFile(message, { problem: 'second-sheet', sheets, option: 'sheet', hint })
}

/** Returns an INVALID_FILE whose message names the file, if the source is a path; any other error unchanged. */
function withPath(thrown: unknown, source: Source): unknown {
  if (typeof source !== 'string' || !(thrown instanceof HighkiqError) || thrown.code !== 'INVALID_FILE') return thrown
  return invalidFile(`${source}: ${thrown.message}`, thrown.details, { cause: thrown.cause })
}

/** How the rows of a report are read. */
interface Layout {
  /** Returns the name of a column that the report has added to those of the file. */
  column(reason: Reason, values: Values): string
  /**
   * Returns the value of a cell without the apostrophes that a report in CSV has in front of formulas. `stored` is the value
   * in the task.
   */
  plain(value: unknown, stored: unknown): unknown
  /** Returns the row as it was imported. Unchanged cells keep their stored values. */
  row(values: Values, stored: Values): Values
}

type Values = Record<string, unknown>

function layoutOf({ header, format }: OpenFile, meta: TaskMeta, rowKey: string | undefined): Layout {
  const plain: Layout['plain'] = (value, stored) => {
    if (format === 'ndjson' || typeof value !== 'string') return value
    return format === 'csv' || isEscaped(value, cellText(stored)) ? unescapeFormula(value) : value
  }
  const cell = cellReader(plain, meta)
  const own = meta.columns
  const ofHeader = header && reasonsIn(header, own)
  const reasonsOf = (values: Values) => ofHeader ?? reasonsIn(Object.keys(values), own)
  const nameOf = (reason: Reason, names: readonly string[]) => reasonNames(own ?? [], languageOf(names))[reason]
  const column: Layout['column'] = (reason, values) =>
    reasonsOf(values)[reason] ?? nameOf(reason, header ?? Object.keys(values))
  const columns = columnsIn(header, own ?? [], format)
  const absent = (own ?? []).filter((name) => header && !columns.has(name))
  if (header && rowKey === undefined && !ofHeader?.['row key']) absent.unshift(nameOf('row key', header))
  if (absent.length > 0) throw missing(absent)
  if (!own) {
    const keyOf = (name: string, stored: Values) => {
      const unescaped = unescapeFormula(name)
      return format === 'xlsx' && !Object.hasOwn(stored, name) && Object.hasOwn(stored, unescaped) ? unescaped : name
    }
    // Rows that have keys of their own or are lists of arguments: the names of the extra columns matter only in the
    // report.
    return {
      column,
      plain,
      row(values, stored) {
        const { job: _, arguments: __, ...found } = reasonsOf(values)
        const reasons = new Set(Object.values(found))
        const names = Object.keys(values).filter((name) => !reasons.has(name))
        const cells = new Map(
          names.map((name) => {
            const key = keyOf(name, stored)
            return [key, header ? cell(values[name], stored[key]) : values[name]]
          }),
        )
        // An empty cell is a key that the row does not have.
        for (const [name, value] of cells) if (header && value === '' && stored[name] !== '') cells.delete(name)
        const before = Object.keys(stored).filter((name) => cells.has(name))
        return Object.fromEntries([...new Set([...before, ...cells.keys()])].map((name) => [name, cells.get(name)]))
      },
    }
  }
  return {
    column,
    plain,
    row(values, stored) {
      const present = own.flatMap((name): [string, unknown][] => {
        const value = values[columns.get(name) ?? name]
        return value === undefined ? [] : [[name, cell(value, stored[name])]]
      })
      return Object.fromEntries(present)
    },
  }
}

/** Returns the name that each column of the imported file has in the report. */
function columnsIn(header: readonly string[] = [], own: readonly string[], format: FileFormat): Map<string, string> {
  const columns = columnsNamed(header, own, (name) => name)
  if (format !== 'xlsx' || columns.size === own.length) return columns
  // A report in CSV that was saved as a workbook.
  const unescaped = columnsNamed(header, own, unescapeFormula)
  return unescaped.size > columns.size ? unescaped : columns
}

/**
 * Returns the header's column for each column of the imported file. It compares with the name that `nameOf` returns for
 * a header, and ignores the kind of line breaks, which a spreadsheet program may have changed.
 */
function columnsNamed(header: readonly string[], own: readonly string[], nameOf: (name: string) => string) {
  const exact = new Map(header.map((name) => [nameOf(name), name]))
  const similar = new Map(header.map((name) => [withPlainBreaks(nameOf(name)), name]))
  return new Map(
    own.flatMap((name): [string, string][] => {
      const column = exact.get(name) ?? similar.get(withPlainBreaks(name))
      return column === undefined ? [] : [[name, column]]
    }),
  )
}

/**
 * Returns whether a cell of a workbook has the apostrophe that a CSV report puts before a formula, because a person
 * saved that report as a workbook. If the imported text begins with such an apostrophe itself, the person may have
 * removed one: then only the exact escaped text counts.
 */
function isEscaped(value: string, stored: string): boolean {
  const escaped = escapeFormula(stored)
  return escaped !== stored && (unescapeFormula(stored) === stored || value === escaped)
}

function missing(columns: string[]): HighkiqError {
  const list = columns.map(shown).join(', ')
  const message = `this is not the file that was downloaded: it has no column ${list}. Download the rejected rows and correct that file`
  return invalidFile(message, { problem: 'other-file', missing: columns })
}

/**
 * Returns the value of a cell of the report. An unchanged cell keeps `stored`, the value in the task, because a CSV
 * file holds only strings, and a spreadsheet program formats some values in its own way.
 */
function cellReader(plain: Layout['plain'], meta: TaskMeta): (reported: unknown, stored: unknown) => unknown {
  return (reported, stored) => {
    const value = plain(reported, stored)
    if (stored !== undefined && isUnchanged(cellText(value), stored)) return stored
    return meta.format === 'csv' ? cellText(value) : value
  }
}

function isUnchanged(text: string, stored: unknown): boolean {
  if (withPlainBreaks(text) === withPlainBreaks(cellText(stored))) return true
  if (typeof stored === 'number') return text.trim() !== '' && Number(text) === stored
  return typeof stored === 'boolean' && text.toLowerCase() === String(stored)
}

const withPlainBreaks = (text: string) => text.replace(/\r\n?/g, '\n')

async function* reportedRows(
  { rows, close }: OpenFile,
  reader: ReportReader,
  source: Source,
): AsyncGenerator<ReportedRow, void, void> {
  try {
    for await (const page of inPages(rows)) yield* reader.read(page)
  } catch (error) {
    throw withPath(error, source)
  } finally {
    await close()
  }
}

interface Reading {
  store: Store
  task: About
  layout: Layout
  check: RowCheck | undefined
  rowKey: string | undefined
  show: Show | undefined
}

/** Finds the task's row for each row of the report. */
class ReportReader {
  readonly #reading: Reading
  /** Rows of the report by the index of their row in the task. */
  readonly #seen = new Map<number, number>()
  #byKey: ReturnType<typeof indexesByKey> | undefined

  constructor(reading: Reading) {
    this.#reading = reading
  }

  async *read(page: readonly FileRow[]): AsyncGenerator<ReportedRow, void, void> {
    const indexes: number[] = []
    for (const row of page) indexes.push(await this.#indexOf(row))
    const { store, task } = this.#reading
    const found = await retryTransient(() => store.tasks.events(task.id, { indexes, limit: indexes.length }))
    const events = new Map(found.map((event) => [event.index, event]))
    for (const [i, row] of page.entries()) {
      const event = events.get(indexes[i] as number)
      // The task was deleted meanwhile.
      if (!event)
        throw wrong(row.number, 'row key', `there is no such row in task ${task.id}`, { problem: 'unknown-row' })
      yield isUnsuccessful(event.status) ? await this.#corrected(event, row) : { event, number: row.number }
    }
  }

  async #indexOf({ number, values }: FileRow): Promise<number> {
    const { layout, rowKey } = this.#reading
    const column = layout.column('row key', values)
    const cell = values[column] ?? ''
    const byKey = cell === '' ? rowKey : undefined
    const index = byKey === undefined ? this.#keyIndex(cell, number, column) : await this.#found(values, number, byKey)
    const first = this.#seen.get(index)
    if (first !== undefined)
      throw wrong(number, byKey ?? column, `row ${first} has the same row key`, { problem: 'twice', first })
    this.#seen.set(index, number)
    return index
  }

  #keyIndex(cell: unknown, number: number, column: string): number {
    const { id, total } = this.#reading.task
    const refused = (what: string, problem: string) => wrong(number, column, what, { problem })
    if (cell === HIDDEN_ROW) throw hiddenRow(number, column)
    const key = parseRowKey(String(cell))
    if (!key) throw refused(`${shown(cell)} is not a row key: leave that column as it is`, 'row-key')
    if (key.task !== id) throw refused(`it is a row of task ${key.task}, not of ${id}`, 'other-task')
    if (key.index >= total) throw refused(`task ${id} has ${total} rows, none with index ${key.index}`, 'unknown-row')
    return key.index
  }

  async #found(values: Values, number: number, rowKey: string): Promise<number> {
    const { store, task, layout, show } = this.#reading
    this.#byKey ??= indexesByKey(store, task.id, rowKey, show)
    const key = String(layout.row(values, {})[rowKey] ?? '')
    const byKey = await this.#byKey
    const indexes = byKey.get(key) ?? byKey.get(unescapeFormula(key))
    if (!indexes)
      throw wrong(number, rowKey, `no rejected row of task ${task.id} has ${shown(key)} there`, {
        problem: 'unknown-row',
      })
    const [index, other] = indexes
    if (other === undefined) return index
    const both = `the rows with the indexes ${index} and ${other} both have ${shown(key)}`
    const keyColumn = layout.column('row key', values)
    const details = { problem: 'same-key', indexes, keyColumn }
    throw wrong(number, rowKey, `${both}: tell them apart by the report's column ${shown(keyColumn)}`, details)
  }

  async #corrected(event: EventRecord, { number, values }: FileRow): Promise<ReportedRow> {
    const { check, layout, show } = this.#reading
    // Anybody can write a row key. Whether a value was changed would tell whether a guess of it is right.
    if (shownEvent(event, show).isHidden) throw hiddenRow(number, layout.column('row key', values))
    if (!check || event.job !== null) return this.#asArgs(event, { number, values })
    const row = layout.row(values, rowOf(event))
    const again = await check.read({ number, values: row })
    const isSame = stringifyJson(row) === (event.source ?? stringifyJson(rowOf(event)))
    return { event, number, row: again, isSame }
  }

  /** Reads the row's arguments, or the fields of its only argument. */
  #asArgs(event: EventRecord, { number, values }: FileRow): ReportedRow {
    const { task, layout } = this.#reading
    const job = event.job ?? task.job
    const [named, column] = [layout.column('job', values), layout.column('arguments', values)]
    const name = layout.plain(values[named], job) ?? ''
    if (name !== '' && name !== job) {
      const what = `it is a row of job ${job}: leave that column as it is`
      throw wrong(number, named, what, { problem: 'other-job', job })
    }
    const stored = argsOfEvent(event)
    const cell = layout.plain(values[column], stored) ?? ''
    const row = cell === '' && event.job === null && isOneObject(stored) ? layout.row(values, rowOf(event)) : {}
    const isRow = Object.keys(row).length > 0
    if (cell === '' && !isRow) {
      const what = `it is a row of job ${job}, whose arguments belong in that column`
      throw wrong(number, column, what, { problem: 'no-arguments', job })
    }
    const args = isRow ? [row] : argsOf(cell, number, column)
    return { event, number, row: { args }, isSame: stringifyJson(args) === stringifyJson(stored) }
  }
}

/** Returns the indexes of the rejected rows by the value of a column. Two indexes mean that the value is not unique. */
async function indexesByKey(
  store: Store,
  task: string,
  rowKey: string,
  show: Show | undefined,
): Promise<Map<string, [index: number, other?: number]>> {
  const found = new Map<string, [number, number?]>()
  for await (const events of eventPages(store, task, { status: [...UNSUCCESSFUL_STATUSES], argsOnly: true })) {
    for (const event of events) {
      if (event.job !== null) continue
      const key = String(rowOf(shownEvent(event, show))[rowKey] ?? '')
      const before = found.get(key)
      found.set(key, before ? [before[0], event.index] : [event.index])
    }
  }
  return found
}

function argsOf(value: unknown, number: number, column: string): unknown[] {
  let args: unknown
  try {
    args = typeof value === 'string' ? parseJson(value) : value
  } catch (error) {
    throw wrong(number, column, `it is not JSON (${messageOf(error)})`, { problem: 'no-json' })
  }
  if (!Array.isArray(args)) {
    throw wrong(number, column, 'it is not a list of arguments: write [ … ]', { problem: 'no-list' })
  }
  try {
    checkArgs(args, column)
  } catch (error) {
    throw wrong(number, column, messageOf(error), { problem: 'refused-arguments' })
  }
  return args
}

function hiddenRow(row: number, column: string): HighkiqError {
  const what = "values of this row are hidden here: correct the report of the submitter's link, and send it there"
  return wrong(row, column, what, { problem: 'hidden' })
}

function wrong(row: number, column: string, what: string, more: object = {}): HighkiqError {
  const message = `row ${row}, column ${shown(column)}: ${what}`
  return invalidFile(message, { row, column, ...more })
}
