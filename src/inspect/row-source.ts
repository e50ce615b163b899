/** Rows of tasks as jobs that a search finds: those that wait inside their tasks, that were rejected, or that have finished. */

import { hideSealed } from '../job/encryption.ts'
import { isObject, parseJson, stringifyJson } from '../job/json.ts'
import { splitTaskJid } from '../job/payload.ts'
import { type EventRecord, type EventStatus, OPEN_STATUSES, type Store, type TaskRecord } from '../store/contract.ts'
import { added, type BulkResult, type SweepOptions } from './bulk.ts'
import { JobRecord } from './record.ts'
import {
  cancelPages,
  isIn,
  type JobHit,
  type Matcher,
  type RowState,
  type SearchPort,
  type Source,
  wrongCursor,
} from './source.ts'
import { type Creation, creationCursor, creationOf, type Page, pages } from './walk.ts'

const ROWS = 500
const TASKS = 200

interface Rows {
  statuses: EventStatus[]
  /** Returns how many such rows a task has. */
  countIn(task: TaskRecord): number
}

const ROWS_OF: Record<RowState, Rows> = {
  backlog: { statuses: ['enqueued'], countIn: ({ backlog }) => backlog },
  rejected: { statuses: ['failed', 'error'], countIn: ({ counts }) => counts.failed + counts.error },
  // Other tasks have not kept what these rows are found by.
  finished: { statuses: ['finished'], countIn: ({ keepArgs, counts }) => (keepArgs === 'all' ? counts.finished : 0) },
}

/** Tasks are read newest first, the rows of each in their order. */
export function rowSource(
  { app, messageText, retryRows }: SearchPort,
  { search, ...matcher }: Matcher,
  state: RowState,
): Source {
  const { store, now } = app
  const hitsOf = (task: TaskRecord, row: EventRecord): JobHit[] => {
    const text = textOfRow(task, row, messageText)
    const hit: JobHit = { state, job: new JobRecord(text, { now }), at: new Date(row.finishedAt ?? task.createdAt) }
    return search.matches(text) && isIn(hit, matcher) ? [hit] : []
  }
  const read: Source['read'] = async ({ after, limit, ms }) => {
    const end = performance.now() + ms
    const items: JobHit[] = []
    let scanned = 0
    for await (const { at, task, row } of rowsFrom(store, state, after === null ? undefined : positionOf(after))) {
      if (task && row) {
        items.push(...hitsOf(task, row))
        scanned++
      }
      if (items.length === limit || performance.now() >= end) return { items, next: textOf(at), scanned }
    }
    return { items, next: null, scanned }
  }
  return {
    state,
    name: '',
    read,
    act: (_, options) => {
      const found = pages((after) => read({ after: after ?? null, limit: ROWS, ms: Number.POSITIVE_INFINITY }))
      return state === 'backlog'
        ? cancelPages({ store, now }, found, (jids) => openRows(store, jids), options)
        : retryAll(retryRows, found, options)
    },
  }
}

/** Retries the rows of these pages, task by task. A retried row changes its status, so all are found first. */
async function retryAll(
  retryRows: SearchPort['retryRows'],
  found: AsyncIterable<Pick<Page<JobHit>, 'items'>>,
  { signal, onProgress }: SweepOptions,
): Promise<BulkResult> {
  const jids = new Set<string>()
  for await (const { items } of found) {
    signal?.throwIfAborted()
    for (const { job } of items) jids.add(job.jid)
  }
  let sum: BulkResult = { done: 0, refused: 0 }
  for (const [id, indexes] of byTask(jids)) {
    signal?.throwIfAborted()
    sum = added(sum, await retryRows(id, indexes))
    onProgress?.(sum)
  }
  return sum
}

/** How far a search has come. `row`: the last row that it has read of the task; null: it has read all of them. */
interface Position extends Creation {
  row: number | null
}

const textOf = (position: Position) => `${creationCursor(position)}-${position.row ?? ''}`

/** @throws INVALID_OPTION */
function positionOf(after: string): Position {
  const [, task = '', row] = /^(.+)-(\d*)$/.exec(after) ?? []
  const creation = creationOf(task)
  if (!creation) throw wrongCursor()
  return { ...creation, row: row ? Number(row) : null }
}

/** Yields the rows of a state behind a position, and positions without a row, so that a search can stop there. */
async function* rowsFrom(
  store: Store,
  state: RowState,
  from: Position | undefined,
): AsyncGenerator<{ at: Position; task?: TaskRecord; row?: EventRecord }> {
  const { statuses, countIn } = ROWS_OF[state]
  let at = from
  // Tasks that are read later may have less backlog by then, and those before `from` are counted, too.
  let left = state === 'backlog' ? (await store.metrics.totals()).backlog : Number.POSITIVE_INFINITY
  while (left > 0) {
    const begun = at && at.row !== null ? await store.tasks.find(at.id) : null
    const tasks = begun ? [begun] : await store.tasks.page({ ...(at ? { before: at } : {}), limit: TASKS })
    for (const task of tasks) {
      const { id, createdAt } = task
      const count = countIn(task)
      let last = begun && at ? at.row : null
      for (let isEnd = count <= 0; !isEnd; ) {
        const after = last === null ? {} : { after: last }
        const rows = await store.tasks.events(id, { status: statuses, ...after, limit: ROWS })
        for (const row of rows) {
          last = row.index
          if (state === 'backlog' && row.location !== 'backlog') continue
          yield { at: { id, createdAt, row: last }, task, row }
        }
        isEnd = rows.length < ROWS
        if (!isEnd) yield { at: { id, createdAt, row: last } }
      }
      at = { id, createdAt, row: null }
      left -= count
      if (left <= 0) return
      yield { at }
    }
    if (!begun && tasks.length < TASKS) return
  }
}

/** Returns those of the rows that have not ended. */
async function openRows(store: Store, jids: ReadonlySet<string>): Promise<Set<string>> {
  const found = [...byTask(jids)].map(([id, indexes]) => store.tasks.events(id, { indexes, limit: indexes.length }))
  const open = (await Promise.all(found)).flat().filter(({ status }) => OPEN_STATUSES.includes(status))
  return new Set(open.map(({ jid }) => jid))
}

/** Returns the indexes of rows by their tasks. */
function byTask(jids: ReadonlySet<string>): Map<string, number[]> {
  const tasks = new Map<string, number[]>()
  for (const jid of jids) {
    const { id, index } = splitTaskJid(jid)
    const indexes = tasks.get(id)
    if (indexes) indexes.push(index)
    else tasks.set(id, [index])
  }
  return tasks
}

/** Returns a row as the text of a job, to be shown and searched. An encrypted argument is hidden. */
function textOfRow(task: TaskRecord, row: EventRecord, messageText: SearchPort['messageText']): string {
  const { jid, job, args: text, status, code, messages, finishedAt, attempts } = row
  const value = parseJson(text ?? '[]')
  // A row may be a whole payload.
  const { args, ...rest } = isObject(value) ? value : { args: value }
  const shown = Array.isArray(args) ? hideSealed(args) : []
  const own = { class: job ?? task.job, queue: task.queue, created_at: task.createdAt }
  const last = messages.at(-1)
  const failure = {
    ...{ error_class: code ?? status, error_message: last ? messageText(last) : '', failed_at: finishedAt },
    ...{ retry_count: Math.max(attempts - 1, 0) },
  }
  const isRejected = status === 'failed' || status === 'error'
  return stringifyJson({ ...own, ...rest, args: shown, jid, hk_task: task.id, ...(isRejected ? failure : {}) })
}
