/** Rejected rows run again: the same events, in a new run. */

import { setTimeout as sleep } from 'node:timers/promises'
import { pages } from '../inspect/walk.ts'
import { HighkiqError } from '../job/errors.ts'
import { stringifyJson } from '../job/json.ts'
import { readPayload, splitTaskJid, taskJid } from '../job/payload.ts'
import {
  type Entry,
  type Pull,
  REJECTED_STATUSES,
  type RejectedStatus,
  type RetryRow,
  type TaskRecord,
} from '../store/contract.ts'
import { trackedTasks } from './aspect.ts'
import { eventPages } from './event.ts'
import type { ImportRows } from './import.ts'
import { insist } from './insist.ts'
import { type TaskHost, unknownTask } from './rows.ts'
import type { Source } from './sheet/source.ts'
import { Submitter } from './submitter.ts'

/** A row as it was corrected. */
export interface CorrectedRow {
  index: number
  /** The handler's arguments. */
  args: unknown[]
  /** The row as it came, for the report, when that is not what the handler gets. */
  source?: object
}

export interface RetryOptions {
  /** Which rejected rows; default `failed` and `error`. */
  status?: RejectedStatus[]
  /** Only those with this code. */
  code?: string
  /** These instead, with other arguments. */
  rows?: Iterable<CorrectedRow> | AsyncIterable<CorrectedRow>
  /** The rows of this corrected report instead: a path, Buffer or stream of a CSV, XLSX or NDJSON file. */
  report?: Source
  /** How the report's rows are read and checked, as at their import. */
  as?: ImportRows
}

export interface Retried {
  run: number
  /** Rows that run again. */
  rows: number
  /** Rows whose arguments are not kept any more: they stay as they were. */
  dropped: number
  /** Rows of a corrected report that `validate` refused once more: they stay as they were. */
  refused: number
}

const PAGE = 500
/** A worker looks for marks several times a second. */
const HEARS_WITHIN_MS = 3000
const LOOK_MS = 50

/**
 * @returns how many rows run again; with none of them no run begins
 * @throws UNKNOWN_TASK, INVALID_OPTION; TASK_BUSY when another is putting rows back just now, or the task is being cancelled
 */
export async function retryTask(host: TaskHost, record: TaskRecord, options: RetryOptions = {}): Promise<Retried> {
  const refused = { count: 0 }
  const chunks = await pagesOf(host, record, options, refused)
  const first = await chunks.next()
  if (first.done || first.value.length === 0) return { run: record.run, rows: 0, dropped: 0, refused: refused.count }
  const submitter = new Submitter(host.store)
  const { store, now } = host
  const { id, queue, run } = record
  try {
    await insist(() => submitter.join(queue))
    const started = await store().startRun(id, run, submitter.token, now())
    if (started === null) throw unknownTask(id)
    if (started !== 'ok') throw busy(id, started)
    const retried = { run: run + 1, rows: 0, dropped: 0, refused: 0 }
    const dead = await deadEntries(host, id)
    const put = async (rows: RetryRow[]) => {
      const items = rows.map((row) => withDead(row, dead))
      await unmark(host, record, rows)
      const answers = await insist(() => store().retryRows(id, run + 1, items, now()))
      for (const answer of answers) {
        if (answer === 'ok') retried.rows++
        if (answer === 'dropped') retried.dropped++
      }
    }
    await put(first.value)
    for await (const rows of chunks) await put(rows)
    // Rows of a report that was sent slowly, or of a task so large that there was time for it.
    const then = await insist(() => store().task(id))
    if (then && then.run !== run + 1) throw overtaken(id, retried.rows)
    await insist(() => store().endAdding(id, submitter.token, now()))
    await submitter.leave()
    return { ...retried, refused: refused.count }
  } catch (thrown) {
    await submitter.giveUp(id, now())
    throw thrown
  } finally {
    // The report, of which not all was read.
    await chunks.return(undefined)
  }
}

async function pagesOf(
  host: TaskHost,
  record: TaskRecord,
  options: RetryOptions,
  refused: { count: number },
): Promise<AsyncGenerator<RetryRow[]>> {
  const { rows, report, as = {} } = options
  if (report === undefined) return rows ? inPages(corrected(rows)) : rejectedPages(host, record.id, options)
  const { openReport } = await import('./corrected.ts')
  // What can be read twice is: a fault in it is known before any row runs again.
  if (typeof report === 'string' || report instanceof Uint8Array) {
    const { validate: _, ...unchecked } = as
    for await (const _row of (await openReport(report, record, unchecked, host.now)).rows);
  }
  const file = await openReport(report, record, as, host.now)
  const accepted = async function* () {
    for await (const row of file.rows) {
      if (row.rejected) refused.count++
      else yield row
    }
  }
  return inPages(corrected(accepted()))
}

async function* rejectedPages(host: TaskHost, id: string, { status = ['failed', 'error'], code }: RetryOptions) {
  const unknown = status.find((name) => !REJECTED_STATUSES.includes(name))
  if (unknown !== undefined) {
    throw new HighkiqError(
      'INVALID_OPTION',
      `retry: status is a list of ${REJECTED_STATUSES.join(', ')}, not ${unknown}`,
    )
  }
  const filter = { status: [...status], ...(code === undefined ? {} : { code }) }
  for await (const events of eventPages(host.store, id, filter)) yield events.map(({ index }): RetryRow => ({ index }))
}

async function* inPages<T>(all: AsyncIterable<T>): AsyncGenerator<T[]> {
  let page: T[] = []
  for await (const one of all) {
    if (page.push(one) < PAGE) continue
    yield page
    page = []
  }
  if (page.length > 0) yield page
}

async function* corrected(rows: Iterable<CorrectedRow> | AsyncIterable<CorrectedRow>): AsyncGenerator<RetryRow> {
  for await (const { index, args, source } of rows) {
    yield {
      index,
      args: stringifyJson(args),
      ...(source === undefined ? {} : { source: stringifyJson(source) }),
    }
  }
}

/**
 * The same jobs run again: that they were cancelled is over, once their old texts are out of the queue and an attempt that
 * still runs has had the time to hear of it. Its mark goes with it.
 */
async function unmark(host: TaskHost, { id, queue }: TaskRecord, rows: readonly RetryRow[]): Promise<void> {
  const { store, now } = host
  let marked = rows.map(({ index }) => taskJid(id, index))
  for (let looks = 0; ; looks++) {
    marked = await insist(() => store().cancelledAmong(marked))
    if (marked.length === 0) return
    const isLast = looks === HEARS_WITHIN_MS / LOOK_MS
    if (looks === 0 || isLast) await withdraw(host, { id, queue }, new Set(marked))
    if (isLast) break
    await sleep(LOOK_MS)
  }
  await Promise.all(marked.map((jid) => insist(() => store().unmark(jid, now()))))
}

/** Without its mark a text that nobody has come to would run beside the new one, and with its old arguments. */
async function withdraw(
  host: TaskHost,
  { id, queue }: Pick<TaskRecord, 'id' | 'queue'>,
  marked: ReadonlySet<string>,
): Promise<void> {
  const { store, now } = host
  const tracked = trackedTasks(host)
  const read = (after: string | undefined) => insist(() => store().scanQueue(queue, `"${id}"`, { after, limit: PAGE }))
  for await (const { items } of pages(read)) {
    const pulls: Pull[] = []
    for (const { text, at } of items) {
      const payload = readPayload(text)
      if (payload?.hk_task !== id || !marked.has(payload.jid)) continue
      const time = now()
      const ended = tracked.effects?.(payload, { kind: 'cancelled', begun: false }, time) ?? []
      pulls.push({
        text,
        at,
        to: null,
        effects: [...ended, { kind: 'unmark', jid: payload.jid, at: time, dropped: true }],
      })
    }
    if (pulls.length > 0) await insist(() => store().pull(queue, pulls, now()))
  }
}

/** The entries that a task's rows have in the dead set, by their index. */
async function deadEntries({ store }: TaskHost, id: string): Promise<Map<number, Entry>> {
  const found = new Map<number, Entry>()
  for await (const { items } of pages((after) => store().scanSet('dead', `"${id}"`, { after, limit: PAGE }))) {
    for (const entry of items) {
      const payload = readPayload(entry.text)
      if (payload?.hk_task === id) found.set(splitTaskJid(payload.jid).index, entry)
    }
  }
  return found
}

function withDead(row: RetryRow, dead: ReadonlyMap<number, Entry>): RetryRow {
  const entry = dead.get(row.index)
  return entry ? { ...row, dead: entry } : row
}

function busy(id: string, why: 'gone' | 'cancelling'): HighkiqError {
  const what = why === 'gone' ? 'somebody else is putting its rows back just now' : 'it is being cancelled'
  return new HighkiqError('TASK_BUSY', `task ${id}: ${what}; look at its status, and try again`)
}

function overtaken(id: string, rows: number): HighkiqError {
  const message = `task ${id}: somebody else began to put its rows back meanwhile; ${rows} rows of this retry run again, look at the others`
  return new HighkiqError('TASK_BUSY', message, { rows })
}
