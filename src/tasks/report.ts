/** Writes a task's rows and their outcome as a file that can be corrected. */

import { invalidOption } from '../job/errors.ts'
import { isObject, parseJson, stringifyJson } from '../job/json.ts'
import { checkOptions } from '../job/options.ts'
import { type EventQuery, type EventRecord, type TaskRecord, UNSUCCESSFUL_STATUSES } from '../store/contract.ts'
import { argsOfEvent } from './event.ts'
import { LANGUAGE_CODES, type Language, TASK_TEXTS } from './languages/index.ts'
import { messageText } from './messages.ts'
import { metaOf } from './meta.ts'
import { hasReason, OTHERS, REASONS, type Reason, reasonNames, reasonsIn } from './report-columns.ts'
import type { FileFormat, ReadFileOptions } from './spreadsheet/file.ts'

export interface ReportOptions {
  /** Default: the ending of the path. */
  format?: FileFormat
  /** Default: the rows that did not finish. `all` needs a task created with `keepArgs: 'all'`. */
  rows?: 'rejected' | 'all'
  /** The language of the added columns, the statuses, and the messages that are not the app's. Default: `en`. */
  lang?: Language
  /**
   * Changes the arguments of each row before they are written. Default: unchanged. A changed row can't be sent back.
   */
  show?: (value: unknown) => unknown
  /** Changes the messages before they are written. Default: unchanged. */
  showMessage?: (text: string) => string
}

/** @throws INVALID_OPTION */
export function checkReport(options: ReportOptions): void {
  checkOptions('task.report', options, {
    format: ['csv', 'xlsx', 'ndjson'],
    rows: ['rejected', 'all'],
    lang: LANGUAGE_CODES,
    show: 'function',
    showMessage: 'function',
  })
}

/** Reads events, page by page. */
export type EventsOf = (query: Omit<EventQuery, 'limit'>) => Pages

type Pages<E = EventRecord> = AsyncIterable<readonly E[]>

/** Writes the report to a file, which gets its name when it is complete. @throws REPORT_FAILED, INVALID_OPTION */
export async function writeReport(
  path: string,
  task: TaskRecord,
  events: EventsOf,
  options: ReportOptions = {},
): Promise<{ rows: number }> {
  const { writeSpreadsheet } = await import('./spreadsheet/write.ts')
  const content = await reportOf(task, events, options)
  return writeSpreadsheet(path, { ...content, ...(options.format ? { format: options.format } : {}) })
}

/** Returns the report as a stream that is produced while it is read. @throws INVALID_OPTION */
export async function reportStream(
  task: TaskRecord,
  events: EventsOf,
  options: ReportOptions & { format: FileFormat },
): Promise<ReadableStream<Uint8Array>> {
  const [{ streamOf }, { checkFormat }] = await Promise.all([
    import('./spreadsheet/write.ts'),
    import('./spreadsheet/format.ts'),
  ])
  checkFormat(options.format)
  return streamOf(options.format, await reportOf(task, events, options))
}

async function reportOf(task: TaskRecord, all: EventsOf, options: ReportOptions) {
  const { rows: which = 'rejected', lang = 'en', show, showMessage = (text) => text } = options
  const events: EventsOf = show ? (query) => shown(all(query), show) : all
  const meta = metaOf(task)
  if (which === 'all' && task.keepArgs !== 'all') {
    const hint = "needs keepArgs: 'all' when the task is made"
    const message = `task ${task.id} has not kept the rows that finished: a report of all rows ${hint}`
    throw invalidOption(message, { problem: 'rows-not-kept', option: 'keepArgs', value: 'all', hint })
  }
  const query = which === 'all' ? {} : { status: [...UNSUCCESSFUL_STATUSES] }
  const columns = meta.columns ?? (await keysOf(events({ ...query, argsOnly: true }), meta.format === 'ndjson'))
  const names = reasonNames(columns ?? [], lang)
  const own = columns ?? [names.arguments]
  const hasOthers = task.mixed && (await holdsOther(events({ ...query, argsOnly: true })))
  const others = hasOthers ? OTHERS.filter((name) => columns || name === 'job') : []
  const header = [...own, ...[...REASONS, ...others].map((reason) => names[reason])]
  return { header, rows: reportRows(task, events(query), { columns, others, lang, showMessage }) }
}

/**
 * Returns all keys of rows that are objects, in the order of their first use. Returns undefined when a row is not one
 * object, or has a key that a report uses for the arguments of other rows. With `ofFile` each row is one
 * object.
 */
async function keysOf(pages: Pages, ofFile: boolean): Promise<string[] | undefined> {
  const keys = new Set<string>()
  for await (const events of pages) {
    for (const event of events) {
      if (event.job !== null) continue
      const args = ofFile ? undefined : argsOfEvent(event)
      if (!ofFile && !isOneObject(args)) return undefined
      for (const key of Object.keys(rowOf(event, args))) keys.add(key)
    }
  }
  return ofFile || (keys.size > 0 && !hasReason(keys, OTHERS)) ? [...keys] : undefined
}

/** Returns whether the handler's only argument is an object, as it is for a row of a file. */
export function isOneObject(args: readonly unknown[] | null | undefined): boolean {
  return args?.length === 1 && isObject(args[0])
}

async function holdsOther(pages: Pages): Promise<boolean> {
  for await (const events of pages) if (events.some(({ job }) => job !== null)) return true
  return false
}

/** Replaces the row key of a row with hidden values: sent back, that row would overwrite the real values. */
export const HIDDEN_ROW = 'hidden'

export type Show = NonNullable<ReportOptions['show']>
type ShownEvent = EventRecord & { isHidden?: boolean }

/** Returns the event with its arguments as `show` shows them. */
export function shownEvent(event: EventRecord, show?: Show): ShownEvent {
  if (!show) return event
  const textOf = (text: string | null) => {
    if (text === null) return null
    const value = parseJson(text)
    const same = stringifyJson(value)
    const changed = stringifyJson(show(value))
    return changed === same ? text : changed
  }
  const [args, source] = [textOf(event.args), textOf(event.source)]
  const isHidden = args !== event.args || source !== event.source
  return isHidden ? { ...event, args, source, isHidden } : event
}

async function* shown(pages: Pages, show: Show): AsyncGenerator<ShownEvent[], void, void> {
  for await (const events of pages) yield events.map((event) => shownEvent(event, show))
}

interface RowOptions {
  columns: string[] | undefined
  others: readonly Reason[]
  lang: Language
  showMessage(text: string): string
}

async function* reportRows(
  task: TaskRecord,
  pages: Pages<ShownEvent>,
  { columns, others, lang, showMessage }: RowOptions,
) {
  const reportRow = (event: ShownEvent) => {
    const { number, index, run, status, code, messages, attempts } = event
    const reasons = cut(messages.map((message) => showMessage(messageText(message, lang))).join('\n'))
    return [
      ...cells(event, columns),
      number ?? '',
      event.isHidden ? HIDDEN_ROW : `${task.id}:${index}:${run}`,
      TASK_TEXTS[lang].statuses[status],
      code ?? '',
      reasons,
      attempts,
      ...others.map((name) => {
        if (columns && event.job === null) return undefined
        return name === 'job' ? (event.job ?? task.job) : argsText(event)
      }),
    ]
  }
  for await (const events of pages) for (const event of events) yield reportRow(event)
}

function cells(event: EventRecord, columns: string[] | undefined): unknown[] {
  if (!columns) return [argsText(event)]
  if (event.job !== null) return columns.map(() => undefined)
  const row = rowOf(event)
  return columns.map((column) => row[column])
}

function argsText(event: EventRecord): string {
  const args = argsOfEvent(event)
  return args === null ? '' : stringifyJson(args)
}

/** Returns a row of a file as it was read. `args`: the arguments of the event, if the caller has parsed them. */
export function rowOf(event: EventRecord, args = event.source === null ? argsOfEvent(event) : null) {
  const row = event.source === null ? args?.[0] : parseJson(event.source)
  return (row ?? {}) as Record<string, unknown>
}

/** A cell of a workbook holds 32,767 characters. */
const CELL_CHARACTERS = 32_000

function cut(text: string): string {
  return text.length <= CELL_CHARACTERS ? text : `${text.slice(0, CELL_CHARACTERS)}… (cut)`
}

/** Parses a row key: the task, the index of the row, and the run in which the report was written. */
export function parseRowKey(text: string): { task: string; index: number } | undefined {
  const [, task, index] = /^([0-9a-f]{16}):(\d{1,10}):\d{1,5}$/.exec(text.trim()) ?? []
  return task === undefined ? undefined : { task, index: Number(index) }
}

/**
 * Returns the task whose report a file is: the task of the row key in its first row. Undefined if the file is no report
 * or can't be read.
 */
export async function reportedTask(path: string, options: ReadFileOptions): Promise<string | undefined> {
  const { openFile } = await import('./spreadsheet/file.ts')
  try {
    const { header, rows, close } = await openFile(path, options)
    if (header && !reasonsIn(header)['row key']) {
      await close()
      return undefined
    }
    for await (const { values } of rows) {
      const column = reasonsIn(header ?? Object.keys(values))['row key']
      return column === undefined ? undefined : parseRowKey(String(values[column] ?? ''))?.task
    }
  } catch {
    // The import tells what is wrong with it.
  }
  return undefined
}
