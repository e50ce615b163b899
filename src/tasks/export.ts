/** Pages in, one file out: each page is a job that answers rows, and the file is in the order of the pages. */

import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { HighkiqError } from '../job/errors.ts'
import type { EventRecord, TaskRecord } from '../store/contract.ts'
import { metaOf, type TaskMeta } from './meta.ts'
import { type PageRows, partsOf } from './parts.ts'
import { retryTransient } from './retry-transient.ts'
import { type TaskHost, unknownTask } from './rows.ts'
import { checkFormat, type FileFormat } from './spreadsheet/format.ts'

/** What is said of an export's file when it is created. */
export interface ExportOf {
  /** Default: `csv`. */
  format?: FileFormat
  /** Members of a row that are written, in this order. Default: those of the first row. */
  columns?: string[]
  /** Where pages wait until they are downloaded: in the store (the default), or in a folder that all processes reach. */
  artifacts?: 'store' | string
}

export interface DownloadOptions {
  /** Begins at once and waits for pages that are not there yet; otherwise the export must have ended. */
  wait?: boolean
  /** Leaves out pages that were rejected, instead of refusing. */
  partial?: boolean
  /** Changes each row before it is written; default: the row is written unchanged. */
  show?: (row: unknown) => unknown
  signal?: AbortSignal
}

const PAGE = 200
const LOOK_MS = 200

/** @throws INVALID_OPTION */
export function exportMeta({
  format = 'csv',
  columns,
  artifacts = 'store',
}: ExportOf): NonNullable<TaskMeta['export']> {
  checkFormat(format)
  if (
    columns !== undefined &&
    !(
      Array.isArray(columns) &&
      columns.length > 0 &&
      columns.every((column) => typeof column === 'string' && column !== '')
    )
  ) {
    throw new HighkiqError('INVALID_OPTION', 'tasks.export: columns is a list of names of members of a row')
  }
  if (columns && new Set(columns).size < columns.length) {
    throw new HighkiqError('INVALID_OPTION', 'tasks.export: columns names none twice')
  }
  if (typeof artifacts !== 'string' || artifacts === '') {
    throw new HighkiqError('INVALID_OPTION', "tasks.export: artifacts is 'store', or the path of a folder")
  }
  return { format, ...(columns ? { columns } : {}), ...(artifacts === 'store' ? {} : { dir: resolve(artifacts) }) }
}

/**
 * All rows of an export in the order of its pages, a page at a time.
 * @throws NOT_AN_EXPORT, TASK_NOT_DONE, EXPORT_INCOMPLETE, UNKNOWN_TASK
 */
async function* exportedPages(
  host: TaskHost,
  record: TaskRecord,
  { wait = false, partial = false, show, signal }: DownloadOptions = {},
): AsyncGenerator<PageRows> {
  const { dir } = exportOf(record)
  const parts = partsOf(host.store, record.id, dir)
  for await (const event of endedInOrder(host, record.id, wait, signal)) {
    const rows = event.status === 'finished' ? await parts.get(event.index) : null
    if (rows) yield show ? (rows.map(show) as unknown as PageRows) : rows
    else if (!partial) throw incomplete(record.id, event)
  }
}

/**
 * The file that the pages make, while it is read.
 * @throws NOT_AN_EXPORT, TASK_NOT_DONE, EXPORT_INCOMPLETE
 */
export async function download(
  host: TaskHost,
  record: TaskRecord,
  options: DownloadOptions,
): Promise<ReadableStream<Uint8Array>> {
  const { format, columns } = exportOf(record)
  refuseUnfinished(record, options)
  const { exportStream } = await import('./spreadsheet/export-file.ts')
  return exportStream(exportedPages(host, record, options), { format, ...(columns ? { columns } : {}) })
}

/** @throws NOT_AN_EXPORT */
function exportOf(record: TaskRecord): NonNullable<TaskMeta['export']> {
  const { export: about } = metaOf(record)
  if (about) return about
  throw new HighkiqError('NOT_AN_EXPORT', `task ${record.id} makes no file: only those of tasks.export do`)
}

/** @throws TASK_NOT_DONE, EXPORT_INCOMPLETE, before anything is written */
function refuseUnfinished(record: TaskRecord, { wait, partial }: DownloadOptions): void {
  const { counts, id, total } = record
  const ended = record.state === 'done' || record.state === 'cancelled'
  if (!ended && !wait) {
    const done = total - counts.enqueued - counts.working
    throw new HighkiqError(
      'TASK_NOT_DONE',
      `task ${id} has ${done} of ${total} pages: wait for it, or download with wait`,
    )
  }
  const rejected = counts.failed + counts.error + counts.cancelled
  if (rejected > 0 && !partial && ended) {
    throw new HighkiqError(
      'EXPORT_INCOMPLETE',
      `${rejected} of ${total} pages of task ${id} were rejected: retry them, or ask for the rest with partial`,
    )
  }
}

async function* endedInOrder(
  host: TaskHost,
  id: string,
  wait: boolean,
  signal?: AbortSignal,
): AsyncGenerator<EventRecord> {
  for (let after = -1; ; ) {
    signal?.throwIfAborted()
    // Asked before the events, so that none can come between.
    const record = await retryTransient(() => host.store().tasks.find(id))
    if (!record) throw unknownTask(id)
    const events = await retryTransient(() => host.store().tasks.events(id, { after, limit: PAGE }))
    let open = false
    for (const event of events) {
      if (event.status === 'enqueued' || event.status === 'working') {
        open = true
        break
      }
      yield event
      after = event.index
    }
    const all = !record.adding && after + 1 >= record.total
    if (all || (!open && events.length === 0 && !wait)) return
    if (!open && events.length > 0) continue
    if (!wait) throw new HighkiqError('TASK_NOT_DONE', `task ${id} goes on: page ${after + 1} has not ended`)
    if (record.state === 'interrupted' && after + 1 >= record.total) {
      throw new HighkiqError('EXPORT_INCOMPLETE', `task ${id} was interrupted: pages are missing`)
    }
    await sleep(LOOK_MS, undefined, signal ? { signal } : {}).catch(() => signal?.throwIfAborted())
  }
}

function incomplete(id: string, { index, status }: EventRecord): HighkiqError {
  const what = status === 'finished' ? 'is not kept any more' : `was rejected (${status})`
  return new HighkiqError(
    'EXPORT_INCOMPLETE',
    `page ${index} of task ${id} ${what}: retry it, or ask for the rest with partial`,
  )
}
