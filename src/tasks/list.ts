/** Lists and searches tasks. */

import type { AppPort } from '../app/port.ts'
import { containsText, searchPages } from '../inspect/search-pages.ts'
import { type Creation, creationCursor, creationOf } from '../inspect/walk.ts'
import { invalidOption } from '../job/errors.ts'
import { checkOptions, shown } from '../job/options.ts'
import { type Store, TASK_STATES, type TaskRecord, type TaskState } from '../store/contract.ts'
import { checkMetaFilter, labelsOf, metaOf } from './meta.ts'
import { statusOf, type TaskStatus } from './task.ts'

/** Options of `list`. A page has at most `limit` tasks. A search reads at most 2,000 tasks, so it may find fewer, or none. */
export interface ListOptions {
  state?: TaskState
  job?: string
  /** Only tasks whose name contains this text, ignoring case. */
  search?: string
  /** Only tasks whose `meta` has these values: strings or whole numbers, at most four. */
  meta?: Readonly<Record<string, string | number>>
  cursor?: string
  limit?: number
}

/** A page of tasks. With `next` there may be more. */
export interface TaskPage {
  items: TaskStatus[]
  next: string | null
}

const KINDS = { state: TASK_STATES, job: 'text', search: 'text', meta: null, cursor: null, limit: 'count' } as const
/**
 * With at most this many open tasks, tracked jobs included, all running tasks are read at once. With more, the pages of
 * all tasks are searched.
 */
const MOST_OPEN = 1000

/** @throws INVALID_OPTION */
export async function listTasks({ store, now }: AppPort, options: ListOptions): Promise<TaskPage> {
  checkOptions('tasks.list', options, KINDS)
  const { cursor, limit = 25 } = options
  const { label, isWanted } = searchOf(options)
  const before = positionOf(cursor)
  const running = options.state === 'running' && !label ? await runningTasks(store) : undefined
  if (running) return firstOf(running, { before, limit, isWanted, now: now() })
  const { items, next } = await searchPages<TaskRecord, Creation>({
    ...{ limit, before, isWanted },
    async read({ before, limit }) {
      const items = await store.tasks.page({ ...(before ? { before } : {}), ...(label ? { label } : {}), limit })
      return { items, next: items.length < limit ? null : (items.at(-1) ?? null) }
    },
  })
  return { items: items.map((record) => statusOf(record, now())), next: next && creationCursor(next) }
}

/** Returns all tasks that run, newest first; undefined when very many tasks have not ended. */
async function runningTasks(store: Store): Promise<TaskRecord[] | undefined> {
  const { items, next } = await store.tasks.idle(Number.MAX_SAFE_INTEGER, { limit: MOST_OPEN })
  if (next !== null) return undefined
  return items.filter(({ single, state }) => !single && state === 'running').sort((a, b) => (isBefore(a, b) ? 1 : -1))
}

/** Returns a page of these tasks. */
function firstOf(tasks: readonly TaskRecord[], { before, limit, isWanted = () => true, now }: PageOf): TaskPage {
  const rest = tasks.filter((task) => (!before || isBefore(task, before)) && isWanted(task))
  const page = rest.slice(0, limit)
  const last = page.at(-1)
  return {
    items: page.map((task) => statusOf(task, now)),
    next: last && rest.length > limit ? creationCursor(last) : null,
  }
}

interface PageOf extends Pick<Search, 'isWanted'> {
  before: Creation | undefined
  limit: number
  now: number
}

interface Search {
  /** The label by which the store finds the tasks. */
  label?: { name: string; value: string }
  /** Tells which of these tasks are wanted; undefined when all are. */
  isWanted?: ((task: TaskRecord) => boolean) | undefined
}

function searchOf({ state, job, search, meta }: ListOptions): Search {
  if (meta !== undefined) checkMetaFilter('tasks.list', meta)
  const [first, ...others] = Object.entries(labelsOf(meta)).map(([name, value]) => ({ name, value }))
  const label = first && { label: first }
  if (!state && !job && search === undefined && others.length === 0) return { ...label }
  const isWanted = (task: TaskRecord) => {
    if ((state && task.state !== state) || (job && task.job !== job)) return false
    if (search !== undefined && !containsText(task.name, search)) return false
    const own = others.length === 0 ? {} : labelsOf(metaOf(task).own)
    return others.every(({ name, value }) => own[name] === value)
  }
  return { ...label, isWanted }
}

const isBefore = (a: Creation, b: Creation) => a.createdAt < b.createdAt || (a.createdAt === b.createdAt && a.id < b.id)

/** @throws INVALID_OPTION */
function positionOf(cursor: string | undefined): Creation | undefined {
  if (cursor === undefined) return undefined
  const position = creationOf(cursor)
  if (position) return position
  throw invalidOption(`tasks.list: cursor must be the \`next\` of the answer before (got ${shown(cursor)})`, {
    problem: 'cursor',
  })
}
