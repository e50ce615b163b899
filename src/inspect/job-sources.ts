/** Where jobs of a state are read from: a set, a queue, the backlog of a task, or the workers. */

import type { AppPort } from '../app/port.ts'
import { splitTaskJid } from '../job/payload.ts'
import { OPEN_STATUSES, type SetName, type Store, type TaskRecord } from '../store/contract.ts'
import { tasksWithBacklog, textOfRow } from './backlog.ts'
import { added, type BulkResult, type SweepOptions } from './bulk.ts'
import { requestCancellations } from './cancel-requests.ts'
import type { Search } from './pattern.ts'
import { Queue, QueuedJob } from './queue.ts'
import { JobRecord } from './record.ts'
import { type Running, RunningSet, runningAmong } from './running.ts'
import { JobSet } from './set.ts'
import { limitedSets, type Page, pages } from './walk.ts'

/** The states in which jobs are searched, in the order in which a job passes them. */
export const SEARCHED_STATES = [
  'scheduled',
  'retry',
  'limited',
  'backlog',
  'queued',
  'running',
  'dead',
  'succeeded',
] as const
export type SearchedState = (typeof SEARCHED_STATES)[number]

/** A job that a search has found. */
export interface JobHit {
  state: SearchedState
  /** A SetEntry, a QueuedJob or a Running; of the state `backlog` a row, as the job that it will be. */
  job: JobRecord
  /** When it is due, died or finished, entered its queue or its task, or started; null when this is not known. */
  at: Date | null
}

/** The actions, and the states to which each applies. */
export const JOB_ACTIONS = {
  retry: ['retry', 'dead'],
  addToQueue: ['scheduled', 'succeeded'],
  kill: ['scheduled', 'retry'],
  delete: ['scheduled', 'retry', 'limited', 'queued', 'dead', 'succeeded'],
  cancel: ['backlog', 'running'],
} as const satisfies Record<string, readonly SearchedState[]>
export type JobAction = keyof typeof JOB_ACTIONS
type SetAction = Exclude<JobAction, 'cancel'>

/** The parts of an app that a search uses. */
export interface SearchPort {
  readonly app: AppPort
  /** Resolves with the ids of the tasks whose `meta` has these values. */
  tasksWith(meta: Readonly<Record<string, string | number>>): Promise<ReadonlySet<string>>
}

/** A set, a queue, a backlog, or the workers: it has jobs of one state. */
export interface Source {
  state: SearchedState
  /** The name of its queue or limit, or the id of its task; empty when all jobs of the state are together. */
  name: string
  read(page: { after: string | null; limit: number; ms: number }): Promise<Page<JobHit> & { scanned: number }>
  act(action: JobAction, options: SweepOptions): Promise<BulkResult>
}

/** A filter that was checked. */
export interface Matcher {
  states: readonly SearchedState[]
  queue: string | undefined
  /** Matches texts. */
  search: Search
  /** The same for a job that was found in its queue, whatever queue its text names. */
  inQueue: Search
  from: number
  until: number
  /** Whether the filter leaves all jobs of its states. */
  isOpen: boolean
}

/** One call reads this many rows of a task, or cancels this many jobs. */
const PAGE = 500
const SETS = { scheduled: 'schedule', retry: 'retry', dead: 'dead', succeeded: 'finished' } as const

/** Returns the sources of the jobs of these states, in the order of the search. */
export async function sourcesOf(port: SearchPort, matcher: Matcher): Promise<Source[]> {
  const { app } = port
  const { store } = app
  const sources: Source[] = []
  for (const state of matcher.states) {
    if (state === 'running') sources.push(runningSource(app, matcher))
    else if (state === 'limited') {
      for (const set of (await limitedSets(store)).sort()) sources.push(setSource(app, matcher, state, set, set))
    } else if (state === 'backlog') {
      const tasks = (await tasksWithBacklog(store)).sort((a, b) => (a.id < b.id ? -1 : 1))
      for (const task of tasks) sources.push(backlogSource(app, matcher, task))
    } else if (state === 'queued') {
      const { queue } = matcher
      const queues = (await store.jobs.queues(queue === undefined ? undefined : [queue])).filter(({ size }) => size > 0)
      for (const name of queues.map(({ name }) => name).sort()) sources.push(queueSource(app, matcher, name))
    } else sources.push(setSource(app, matcher, state, SETS[state]))
  }
  return sources
}

/** Jobs that wait are read next first, others newest first. */
function setSource(
  app: AppPort,
  { search, from, until }: Matcher,
  state: SearchedState,
  set: SetName,
  name = '',
): Source {
  const jobs = new JobSet(app, set)
  const desc = state === 'dead' || state === 'succeeded'
  const isTimely = (score: number) => score * 1000 >= from && score * 1000 < until
  const [first, last] = desc ? [until, from] : [from, until]
  return {
    state,
    name,
    async read({ after, limit, ms }) {
      // A cursor that is a score alone is before all entries of the score, seen in this direction.
      const begin = after ?? (Number.isFinite(first) ? `${first / 1000}:` : null)
      const { items, next, scanned } = await jobs.search(search, { after: begin, limit, desc, ms })
      const reached = next === null ? last : Number(next.split(':', 1)) * 1000
      const isOver = next === null || (desc ? reached < last : reached >= last)
      const hits = items.flatMap((job) => (isTimely(job.score) ? [{ state, job, at: job.at }] : []))
      return { items: hits, next: isOver ? null : next, scanned }
    },
    act(action, options) {
      const where = ({ text, score }: { text: string; score: number }) => isTimely(score) && search.matches(text)
      return SET_ACTIONS[action as SetAction](jobs, { ...options, where })
    },
  }
}

function queueSource(app: AppPort, { inQueue, ...matcher }: Matcher, queue: string): Source {
  const hitOf = (item: { text: string; at: string }): JobHit => {
    const job = new QueuedJob(app, queue, item)
    return { state: 'queued', job, at: job.enqueuedAt ?? job.createdAt }
  }
  const isHit = ({ text }: { text: string }) => inQueue.matches(text) && isIn(hitOf({ text, at: '' }), matcher)
  return {
    state: 'queued',
    name: queue,
    read: async ({ after, limit }) => {
      const page = await app.store.search.scanQueue(queue, inQueue.needle, { after: after ?? undefined, limit })
      return { ...page, items: page.items.filter(isHit).map(hitOf) }
    },
    act: (_, options) => new Queue(app, queue).deleteAll({ ...options, matching: inQueue.needle, where: isHit }),
  }
}

/** Rows of a task are read in their order. */
function backlogSource(app: AppPort, { search, ...matcher }: Matcher, task: TaskRecord): Source {
  const at = new Date(task.createdAt)
  const read = async ({ after, limit }: { after: string | null | undefined; limit: number }) => {
    const first = after == null ? {} : { after: Number(after) }
    const rows = await app.store.tasks.events(task.id, { status: ['enqueued'], ...first, limit: PAGE })
    const items: JobHit[] = []
    let scanned = 0
    for (const row of rows) {
      if (items.length === limit) break
      scanned++
      if (row.location !== 'backlog') continue
      const text = textOfRow(task, row)
      const hit: JobHit = { state: 'backlog', job: new JobRecord(text, { now: app.now }), at }
      if (search.matches(text) && isIn(hit, matcher)) items.push(hit)
    }
    const isEnd = scanned === rows.length && rows.length < PAGE
    return { items, next: isEnd ? null : String(rows[scanned - 1]?.index), scanned }
  }
  return {
    state: 'backlog',
    name: task.id,
    read,
    act: (_, options) =>
      cancelPages(
        app,
        pages((after) => read({ after, limit: PAGE })),
        (jids) => openRows(app.store, task.id, jids),
        options,
      ),
  }
}

/** Returns those of the rows that have not ended. */
async function openRows(store: Store, task: string, jids: ReadonlySet<string>): Promise<Set<string>> {
  const indexes = [...jids].map((jid) => splitTaskJid(jid).index)
  const rows = await store.tasks.events(task, { indexes, limit: indexes.length })
  return new Set(rows.flatMap(({ jid, status }) => (OPEN_STATUSES.includes(status) ? [jid] : [])))
}

/** Cancels the jobs of these pages, page by page. */
async function cancelPages(
  app: AppPort,
  found: AsyncIterable<Pick<Page<JobHit>, 'items'>> | Iterable<Pick<Page<JobHit>, 'items'>>,
  openOf: Parameters<typeof requestCancellations>[2],
  { signal, onProgress }: SweepOptions,
): Promise<BulkResult> {
  let sum: BulkResult = { done: 0, refused: 0 }
  for await (const { items } of found) {
    signal?.throwIfAborted()
    if (items.length === 0) continue
    const jobs = items.map(({ job }) => job)
    sum = added(sum, await requestCancellations(app, jobs, openOf))
    onProgress?.(sum)
  }
  return sum
}

function runningSource(app: AppPort, { search, ...matcher }: Matcher): Source {
  const matching = async (after = '') => {
    const all: Running[] = []
    for await (const job of new RunningSet(app)) if (sortKeyOf(job) > after) all.push(job)
    const hits = all
      .sort((a, b) => (sortKeyOf(a) < sortKeyOf(b) ? -1 : 1))
      .map((job): JobHit & { job: Running } => ({ state: 'running', job, at: job.startedAt }))
      .filter((hit) => search.matches(hit.job.text) && isIn(hit, matcher))
    return { hits, scanned: all.length }
  }
  return {
    state: 'running',
    name: '',
    async read({ after, limit }) {
      const { hits, scanned } = await matching(after ?? '')
      const items = hits.slice(0, limit)
      const last = items.at(-1)
      return { items, next: last && hits.length > limit ? sortKeyOf(last.job) : null, scanned }
    },
    async act(_, options) {
      const { hits } = await matching()
      const found = Array.from({ length: Math.ceil(hits.length / PAGE) }, (_, i) => ({
        items: hits.slice(i * PAGE, (i + 1) * PAGE),
      }))
      return cancelPages(app, found, (jids) => runningAmong(app.store, jids), options)
    },
  }
}

const SET_ACTIONS: Record<SetAction, (set: JobSet, options: SweepOptions) => Promise<BulkResult>> = {
  retry: (set, options) => set.retryAll(options),
  addToQueue: (set, options) => set.addAllToQueue(options),
  kill: (set, options) => set.killAll(options),
  delete: (set, options) => set.deleteAll(options),
}

function isIn({ at }: JobHit, { from, until }: Pick<Matcher, 'from' | 'until'>): boolean {
  if (from === Number.NEGATIVE_INFINITY && until === Number.POSITIVE_INFINITY) return true
  return at !== null && at.getTime() >= from && at.getTime() < until
}

/** Returns a text by which running jobs are sorted, longest first; each has its own. */
function sortKeyOf({ startedAt, process, thread, jid }: Running): string {
  return [String(startedAt.getTime()).padStart(16, '0'), process, thread, jid].join(' ')
}
