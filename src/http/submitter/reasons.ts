/** Groups the rows to correct by code, and rows without a code by message. */

import type { TaskEvent } from '../../tasks/event.ts'
import type { Language } from '../../tasks/languages/index.ts'
import type { TaskStatus } from '../../tasks/task.ts'
import { type EventPage, eventsOf } from '../routes/tasks/queries.ts'
import type { Call } from '../server/route.ts'
import type { ServerContext } from '../server/server-context.ts'

export interface Group {
  /** The different messages of its rows, null for none; an empty list for a group of many reasons. */
  texts: (string | null)[]
  count: number
  /** The first rows of the group. */
  samples: TaskEvent[]
}

type QueryCall = Pick<Call, 'hq' | 'server'>

/** The most groups on a page. */
const MOST = 20
export const SAMPLES = 4
/** The most rows without a code that are read. */
const UNCODED = 500

/** The most combinations of task and language in memory. */
const KEPT = 200
const kept = new WeakMap<ServerContext, Map<string, { of: string; groups: Promise<Group[]> }>>()

/** Returns the groups, largest first. They are computed once for all viewers until more rows fail. */
export async function groupsOf(call: QueryCall, task: TaskStatus, language: Language): Promise<Group[]> {
  const all = kept.get(call.server) ?? new Map()
  kept.set(call.server, all)
  const of = `${task.run} ${task.counts.failed}`
  const key = `${task.id} ${language}`
  const known = all.get(key)
  if (known?.of === of) return known.groups
  const groups = lookUp(call, task, language)
  if (all.size >= KEPT) all.clear()
  all.set(key, { of, groups })
  groups.catch(() => all.delete(key))
  return groups
}

async function lookUp(call: QueryCall, task: TaskStatus, language: Language): Promise<Group[]> {
  const reasons = (await call.hq.tasks.get(task.id).reasons()).filter(({ status }) => status === 'failed')
  const failed = { status: ['failed' as const], after: -1 }
  const read = (page: EventPage) => eventsOf(call, task, { ...page, language })
  const groups: Group[] = []
  for (const { code, count } of reasons.slice(0, MOST)) {
    if (code !== null) groups.push(groupOf(await read({ ...failed, code, limit: SAMPLES }), count))
  }
  const hasUncoded = reasons.some(({ code, otherCodes }) => code === null && !otherCodes)
  if (hasUncoded) groups.push(...byText(await read({ ...failed, code: null, limit: UNCODED })))
  groups.sort((a, b) => b.count - a.count)
  const shown = groups.filter(({ samples }) => samples.length > 0).slice(0, MOST)
  const all = reasons.reduce((sum, { count }) => sum + count, 0)
  const rest = all - shown.reduce((sum, { count }) => sum + count, 0)
  return rest > 0 ? [...shown, { texts: [], count: rest, samples: [] }] : shown
}

function byText(events: TaskEvent[]): Group[] {
  const groups = new Map<string | null, TaskEvent[]>()
  for (const event of events) {
    const text = textOf(event)
    const group = groups.get(text)
    if (group) group.push(event)
    else groups.set(text, [event])
  }
  return [...groups.values()].map((group) => groupOf(group.slice(0, SAMPLES), group.length))
}

function groupOf(samples: TaskEvent[], count: number): Group {
  return { texts: [...new Set(samples.map(textOf))], count, samples }
}

const textOf = ({ messages }: TaskEvent) => messages.at(-1)?.text ?? null
