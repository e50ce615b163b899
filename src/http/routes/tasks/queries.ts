/** Queries about one task. */

import type { Highkiq } from '../../../app.ts'
import type { EventStatus, ReasonCount } from '../../../index.ts'
import { HighkiqError } from '../../../job/errors.ts'
import { isObject, stringifyJson } from '../../../job/json.ts'
import { given } from '../../../job/options.ts'
import { type CodeFilter, codeFilterOf, eventOf, reasonFilter, type TaskEvent } from '../../../tasks/event.ts'
import type { Language } from '../../../tasks/languages/index.ts'
import { metaOf, type OwnMeta, type TaskMeta } from '../../../tasks/meta.ts'
import type { FileFormat } from '../../../tasks/spreadsheet/format.ts'
import type { TaskStatus } from '../../../tasks/task.ts'
import { withoutMeta } from '../../access/task-meta.ts'
import type { Call } from '../../server/route.ts'

/** Returns the status as everyone with the task's link may see it: `meta` is for operators alone. @throws UNKNOWN_TASK */
export async function statusWithoutMeta(hq: Highkiq, { id = '' }: Call['path']): Promise<TaskStatus> {
  const status = /^[0-9a-f]{16}$/.test(id) ? await hq.tasks.get(id).status() : null
  if (status) return withoutMeta(status)
  throw new HighkiqError('UNKNOWN_TASK', `no task has the id ${id}`)
}

interface About {
  /** The format of the imported file, and of the file that an export makes; null where there is none. */
  format: FileFormat | null
  export: FileFormat | null
  /** What only operators see. */
  forOperators: Pick<TaskMeta, 'file'> & { meta?: OwnMeta; onDone?: string; onFailure?: string }
}

/** Returns what the task remembers about its origin. */
export async function aboutOf(hq: Highkiq, id: string): Promise<About> {
  const task = await hq.store.tasks.find(id)
  const { format, export: made, own: meta, file, callbacks }: TaskMeta = task ? metaOf(task) : {}
  return {
    format: format ?? null,
    export: made?.format ?? null,
    forOperators: { ...given({ meta, file }), ...callbacks },
  }
}

export interface EventPage extends CodeFilter {
  status?: EventStatus[] | undefined
  /** Returns only rows after this index. */
  after: number
  limit: number
  /** The language of messages; default English. */
  language?: Language
}

/** One search reads about this many rows at most, in pages, and begins no further page after this time. */
const SEARCHED = 5000
const SEARCH_MS = 150
const SEARCH_PAGE = 500

/** Returns redacted events. */
export async function eventsOf(
  { hq, server }: Pick<Call, 'hq' | 'server'>,
  { id, job }: TaskStatus,
  { status, after, limit, language, ...filter }: EventPage,
): Promise<TaskEvent[]> {
  const query = { ...(status ? { status } : {}), ...codeFilterOf(filter), after, limit }
  const records = await hq.store.tasks.events(id, query)
  return records.map((record) => server.redaction.event(eventOf(job, record, language)))
}

export interface RowSearch {
  /** A text in the arguments, the code or the messages, ignoring case. */
  search?: string | undefined
  /** The values of fields. */
  field?: Record<string, string> | undefined
}

/**
 * Finds the rows of a search. One call reads a bounded number of rows: `next` is the index to continue after, or null when
 * all rows were read.
 */
export async function searchEvents(
  call: Pick<Call, 'hq' | 'server'>,
  task: TaskStatus,
  { limit, ...page }: EventPage,
  { search = '', field = {} }: RowSearch,
): Promise<{ items: TaskEvent[]; next: string | null }> {
  const wanted = search.toLowerCase()
  const values = Object.entries(field)
  const holds = ({ args, messages, code }: TaskEvent) =>
    values.every(([name, value]) => fieldText(args, name) === value) &&
    `${stringifyJson(args)}\n${code ?? ''}\n${messages.map(({ text }) => text).join('\n')}`
      .toLowerCase()
      .includes(wanted)
  const items: TaskEvent[] = []
  let { after } = page
  const end = performance.now() + SEARCH_MS
  for (let read = 0; read < SEARCHED && (read === 0 || performance.now() < end); read += SEARCH_PAGE) {
    const events = await eventsOf(call, task, { ...page, after, limit: SEARCH_PAGE })
    for (const event of events) {
      after = event.index
      if (holds(event)) items.push(event)
      if (items.length === limit) return { items, next: String(after) }
    }
    if (events.length < SEARCH_PAGE) return { items, next: null }
  }
  return { items, next: String(after) }
}

/** Returns a field of the only argument, or an argument by its number, as text. */
function fieldText(args: unknown[] | null, name: string): string | undefined {
  const [first] = args ?? []
  const value = isObject(first) ? (Object.hasOwn(first, name) ? first[name] : undefined) : args?.[Number(name)]
  return typeof value === 'string' || value === undefined ? value : stringifyJson(value)
}

interface Reason extends ReasonCount {
  /** The first rows with this reason, with their last message. */
  samples: { index: number; number: number | null; message: string | null }[]
}

/** The number of reasons with samples. */
const SAMPLED = 20

/** Returns why rows were rejected, with sample rows, and the number of all reasons. */
export async function reasonsOf(
  call: Pick<Call, 'hq' | 'server'>,
  task: TaskStatus,
  { samples, limit, language }: { samples: number; limit: number | undefined; language: Language },
): Promise<{ items: Reason[]; total: number }> {
  const reasons = await call.hq.tasks.get(task.id).reasons()
  const sampled = samples > 0 ? SAMPLED : 0
  const items = reasons.slice(0, limit).map(async (reason, i) => {
    return { ...reason, samples: i < sampled ? await samplesOf(call, task, reason, { samples, language }) : [] }
  })
  return { items: await Promise.all(items), total: reasons.length }
}

async function samplesOf(
  call: Pick<Call, 'hq' | 'server'>,
  task: TaskStatus,
  { status, ...reason }: ReasonCount,
  { samples, language }: { samples: number; language: Language },
): Promise<Reason['samples']> {
  const page = { status: [status], ...reasonFilter(reason), after: -1, limit: samples, language }
  const events = await eventsOf(call, task, page)
  return events.map(({ index, number, messages }) => {
    return { index, number, message: messages.at(-1)?.text ?? null }
  })
}
