/** Exports a file from pages: each page is a job that returns rows, and the file has them in the order of the pages. */

import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AppPort } from '../app/port.ts'
import { HighkiqError } from '../job/errors.ts'
import type { OptionKind } from '../job/options.ts'
import type { EventRecord, TaskRecord } from '../store/contract.ts'
import { metaOf, type TaskMeta } from './meta.ts'
import { type PageRows, partsOf } from './parts.ts'
import { findTask, retryTransient } from './rows.ts'
import { FILE_FORMATS, type FileFormat } from './spreadsheet/format.ts'

/** The options of an export's file. */
export interface ExportFileOptions {
  /** Default: `csv`. */
  format?: FileFormat
  /** The fields of a row that are written, in this order. Default: those of the first row. */
  columns?: string[]
  /** Where pages are kept until the download: in the store (the default), or in a folder that all processes share. */
  artifacts?: 'store' | string
}

export interface DownloadOptions {
  /** Starts at once and waits for missing pages. Default: the export must have ended. */
  wait?: boolean
  /** Leaves out rejected pages, and those that an interrupted export lacks. Default: they are an error. */
  partial?: boolean
  /** Changes each row before it is written. Default: unchanged. */
  show?: (row: unknown) => unknown
  signal?: AbortSignal
}

const PAGE = 200
const POLL_MS = 200

/** The checks of the options. */
export const EXPORT_FILE: Record<keyof ExportFileOptions, OptionKind> = {
  format: FILE_FORMATS,
  columns: [areColumns, 'a list of field names, each once'],
  artifacts: [(folder) => typeof folder === 'string' && folder !== '', "'store' or the path of a folder"],
}

function areColumns(columns: unknown): boolean {
  if (!Array.isArray(columns) || columns.length === 0 || new Set(columns).size < columns.length) return false
  return columns.every((column) => typeof column === 'string' && column !== '')
}

/** Returns the meta of a task with these options, which were checked. */
export function exportMeta({ format = 'csv', columns, artifacts = 'store' }: ExportFileOptions): TaskMeta {
  const dir = artifacts === 'store' ? {} : { dir: resolve(artifacts) }
  return { export: { format, ...(columns ? { columns } : {}), ...dir } }
}

/**
 * Yields the rows of an export page by page, in the order of the pages.
 * @throws NOT_AN_EXPORT, TASK_NOT_DONE, EXPORT_INCOMPLETE, UNKNOWN_TASK
 */
async function* exportedPages(
  app: AppPort,
  record: TaskRecord,
  options: DownloadOptions = {},
): AsyncGenerator<PageRows> {
  const { partial = false, show } = options
  const { dir } = exportOf(record)
  const parts = partsOf(app.store, record.id, dir)
  for await (const event of endedInOrder(app, record.id, options)) {
    const rows = event.status === 'finished' ? await parts.get(event.index) : null
    if (rows) yield show ? (rows.map(show) as unknown as PageRows) : rows
    else if (!partial) throw incomplete(record.id, event)
  }
}

/**
 * Returns the file of an export, produced while it is read.
 * @throws NOT_AN_EXPORT, TASK_NOT_DONE, EXPORT_INCOMPLETE
 */
export async function download(
  app: AppPort,
  record: TaskRecord,
  options: DownloadOptions,
): Promise<ReadableStream<Uint8Array>> {
  const { format, columns } = exportOf(record)
  refuseUnfinished(record, options)
  const { exportStream } = await import('./spreadsheet/export-file.ts')
  return exportStream(exportedPages(app, record, options), { format, ...(columns ? { columns } : {}) })
}

/** @throws NOT_AN_EXPORT */
function exportOf(record: TaskRecord): NonNullable<TaskMeta['export']> {
  const { export: about } = metaOf(record)
  if (about) return about
  throw new HighkiqError('NOT_AN_EXPORT', `task ${record.id} has no file: only tasks of tasks.export have one`)
}

const PARTIAL = { option: 'partial', value: true, hint: 'ask for the rest with partial' }

/** Refuses an incomplete export before anything is written. @throws TASK_NOT_DONE, EXPORT_INCOMPLETE */
function refuseUnfinished(record: TaskRecord, { wait, partial }: DownloadOptions): void {
  const { counts, id, total } = record
  const ended = hasEnded(record)
  if (!ended && !wait) {
    const done = total - counts.enqueued - counts.working
    const hint = 'download with wait'
    const message = `task ${id} has ${done} of ${total} pages: wait for it, or ${hint}`
    throw new HighkiqError('TASK_NOT_DONE', message, { option: 'wait', value: true, hint })
  }
  const rejected = counts.failed + counts.error + counts.cancelled
  if (rejected > 0 && !partial && ended) {
    const message = `${rejected} of ${total} pages of task ${id} were rejected: retry them, or ${PARTIAL.hint}`
    throw new HighkiqError('EXPORT_INCOMPLETE', message, PARTIAL)
  }
}

function hasEnded({ state }: TaskRecord): boolean {
  return state === 'done' || state === 'cancelled'
}

async function* endedInOrder(
  app: AppPort,
  id: string,
  { wait = false, partial = false, signal }: DownloadOptions,
): AsyncGenerator<EventRecord> {
  for (let after = -1; ; ) {
    signal?.throwIfAborted()
    // Read before the events: if the task had ended by then, the events are complete. Until then its pages may add others.
    const record = await retryTransient(() => findTask(app, id))
    const events = await retryTransient(() => app.store.tasks.events(id, { after, limit: PAGE }))
    let open = false
    for (const event of events) {
      if (event.status === 'enqueued' || event.status === 'working') {
        open = true
        break
      }
      yield event
      after = event.index
    }
    const isRead = after + 1 >= record.total
    if ((isRead && hasEnded(record)) || (!open && events.length === 0 && !wait)) return
    if (!open && events.length > 0) continue
    if (!wait) throw new HighkiqError('TASK_NOT_DONE', `task ${id} still runs: page ${after + 1} has not ended`)
    if (isRead && record.state === 'interrupted' && record.counts.enqueued + record.counts.working === 0) {
      if (partial) return
      const message = `task ${id} was interrupted, so pages are missing: resume adding them, or ${PARTIAL.hint}`
      throw new HighkiqError('EXPORT_INCOMPLETE', message, PARTIAL)
    }
    await sleep(POLL_MS, undefined, signal ? { signal } : {}).catch(() => signal?.throwIfAborted())
  }
}

function incomplete(id: string, { index, status }: EventRecord): HighkiqError {
  const what = status === 'finished' ? 'is not kept any more' : `was rejected (${status})`
  const message = `page ${index} of task ${id} ${what}: retry it, or ${PARTIAL.hint}`
  return new HighkiqError('EXPORT_INCOMPLETE', message, PARTIAL)
}
