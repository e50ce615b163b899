/** The rows that wait inside their tasks, as jobs that a search finds. */

import type { AppPort } from '../app/port.ts'
import { hideSealed } from '../job/encryption.ts'
import { isObject, parseJson, stringifyJson } from '../job/json.ts'
import { splitTaskJid } from '../job/payload.ts'
import { type EventRecord, OPEN_STATUSES, type Store, type TaskRecord } from '../store/contract.ts'
import { JobRecord } from './record.ts'
import { cancelPages, isIn, type JobHit, type Matcher, type Source, wrongCursor } from './source.ts'
import { pages } from './walk.ts'

const ROWS = 500
const TASKS = 200

/** Tasks are read newest first, the rows of each in their order. */
export function backlogSource({ store, now }: AppPort, { search, ...matcher }: Matcher): Source {
  const hitsOf = (task: TaskRecord, row: EventRecord): JobHit[] => {
    const text = textOfRow(task, row)
    const hit: JobHit = { state: 'backlog', job: new JobRecord(text, { now }), at: new Date(task.createdAt) }
    return search.matches(text) && isIn(hit, matcher) ? [hit] : []
  }
  const read: Source['read'] = async ({ after, limit, ms }) => {
    const end = performance.now() + ms
    const items: JobHit[] = []
    let scanned = 0
    for await (const { at, task, row } of rowsFrom(store, after === null ? undefined : positionOf(after))) {
      if (task && row) {
        items.push(...hitsOf(task, row))
        scanned++
      }
      if (items.length === limit || performance.now() >= end) return { items, next: textOf(at), scanned }
    }
    return { items, next: null, scanned }
  }
  return {
    state: 'backlog',
    name: '',
    read,
    act: (_, options) => {
      const found = pages((after) => read({ after: after ?? null, limit: ROWS, ms: Number.POSITIVE_INFINITY }))
      return cancelPages({ store, now }, found, (jids) => openRows(store, jids), options)
    },
  }
}

/** How far a search has come. `row`: the last row that it has read of the task; null: it has read all of them. */
interface Position {
  id: string
  createdAt: number
  row: number | null
}

const textOf = ({ id, createdAt, row }: Position) => `${createdAt}-${id}-${row ?? ''}`

/** @throws INVALID_OPTION */
function positionOf(after: string): Position {
  const [, createdAt, id, row] = /^(\d+)-(.+)-(\d*)$/.exec(after) ?? []
  if (createdAt === undefined || id === undefined) throw wrongCursor()
  return { id, createdAt: Number(createdAt), row: row ? Number(row) : null }
}

/** Yields the rows in backlogs behind a position, and positions without a row, so that a search can stop there. */
async function* rowsFrom(
  store: Store,
  from: Position | undefined,
): AsyncGenerator<{ at: Position; task?: TaskRecord; row?: EventRecord }> {
  let at = from
  // Tasks that are read later may have less backlog by then, and those before `from` are counted, too.
  let { backlog: left } = await store.metrics.totals()
  while (left > 0) {
    const begun = at && at.row !== null ? await store.tasks.find(at.id) : null
    const tasks = begun ? [begun] : await store.tasks.page({ ...(at ? { before: at } : {}), limit: TASKS })
    for (const task of tasks) {
      const { id, createdAt, backlog } = task
      let last = begun && at ? at.row : null
      for (let isEnd = backlog <= 0; !isEnd; ) {
        const after = last === null ? {} : { after: last }
        const rows = await store.tasks.events(id, { status: ['enqueued'], ...after, limit: ROWS })
        for (const row of rows) {
          last = row.index
          if (row.location === 'backlog') yield { at: { id, createdAt, row: last }, task, row }
        }
        isEnd = rows.length < ROWS
        if (!isEnd) yield { at: { id, createdAt, row: last } }
      }
      at = { id, createdAt, row: null }
      left -= backlog
      if (left <= 0) return
      yield { at }
    }
    if (!begun && tasks.length < TASKS) return
  }
}

/** Returns those of the rows that have not ended. */
async function openRows(store: Store, jids: ReadonlySet<string>): Promise<Set<string>> {
  const byTask = new Map<string, number[]>()
  for (const { id, index } of [...jids].map(splitTaskJid)) byTask.set(id, [...(byTask.get(id) ?? []), index])
  const found = [...byTask].map(([id, indexes]) => store.tasks.events(id, { indexes, limit: indexes.length }))
  const open = (await Promise.all(found)).flat().filter(({ status }) => OPEN_STATUSES.includes(status))
  return new Set(open.map(({ jid }) => jid))
}

/** Returns a row as the text of a job, to be shown and searched. An encrypted argument is hidden. */
function textOfRow(task: TaskRecord, { jid, job, args: text }: EventRecord): string {
  const value = parseJson(text ?? '[]')
  // A row may be a whole payload.
  const { args, ...rest } = isObject(value) ? value : { args: value }
  const shown = Array.isArray(args) ? hideSealed(args) : []
  const own = { class: job ?? task.job, queue: task.queue, created_at: task.createdAt }
  return stringifyJson({ ...own, ...rest, args: shown, jid, hk_task: task.id })
}
