/** A source of a search: a set, queue or backlog with the jobs of one state. */

import type { AppPort } from '../app/port.ts'
import { type HighkiqError, invalidOption } from '../job/errors.ts'
import type { Message } from '../store/contract.ts'
import { added, type BulkResult, type SweepOptions } from './bulk.ts'
import { requestCancellations } from './cancel-requests.ts'
import type { Search } from './pattern.ts'
import type { JobRecord } from './record.ts'
import type { Page } from './walk.ts'

/**
 * The states in which jobs are searched: first those of failed jobs, which people look for most, and which may be behind
 * very many waiting ones; then in the order in which a job passes them.
 */
export const SEARCHED_STATES = [
  'retry',
  'dead',
  'rejected',
  'morgue',
  'scheduled',
  'limited',
  'backlog',
  'queued',
  'ordered',
  'running',
  'succeeded',
  'finished',
] as const
export type SearchedState = (typeof SEARCHED_STATES)[number]

/** The states of rows of tasks: in the backlog; rejected; finished, of tasks that keep the arguments of all rows. */
const ROW_STATES = ['backlog', 'rejected', 'finished'] as const satisfies SearchedState[]
export type RowState = (typeof ROW_STATES)[number]

export function isRowState(state: SearchedState): state is RowState {
  return (ROW_STATES as readonly SearchedState[]).includes(state)
}

/** The states of ids of ordered queues: those that wait, and dead ones. */
const ORDERED_STATES = ['ordered', 'morgue'] as const satisfies SearchedState[]
export type OrderedState = (typeof ORDERED_STATES)[number]

export function isOrderedState(state: SearchedState): state is OrderedState {
  return (ORDERED_STATES as readonly SearchedState[]).includes(state)
}

/** The parts of an app that a search uses. */
export interface SearchPort {
  readonly app: AppPort
  /** Resolves with the ids of the tasks whose `meta` has these values. */
  tasksWith(meta: Readonly<Record<string, string | number>>): Promise<ReadonlySet<string>>
  messageText(message: Message): string
  /** Retries rejected rows of a task, as they are. */
  retryRows(task: string, indexes: readonly number[]): Promise<BulkResult>
}

/** A job that a search has found. */
export interface JobHit {
  state: SearchedState
  /**
   * A SetEntry, a QueuedJob or a Running. Of the states `backlog`, `rejected` and `finished` a row as its job; of `ordered`
   * and `morgue` an id whose arguments are the id and its payloads, and whose class is its queue.
   */
  job: JobRecord
  /** When it is due, died or finished, entered its queue or its task, or started; null when this is not known. */
  at: Date | null
}

/** The actions, and the states to which each applies. */
export const JOB_ACTIONS = {
  retry: ['retry', 'dead', 'rejected', 'morgue'],
  addToQueue: ['scheduled', 'succeeded'],
  kill: ['scheduled', 'retry'],
  delete: ['scheduled', 'retry', 'limited', 'queued', 'ordered', 'dead', 'morgue', 'succeeded'],
  cancel: ['backlog', 'running'],
} as const satisfies Record<string, readonly SearchedState[]>
export type JobAction = keyof typeof JOB_ACTIONS

/** A set, a queue, a backlog, or the workers: it has jobs of one state. */
export interface Source {
  state: SearchedState
  /** The name of its queue or limit; empty when all jobs of the state are together. */
  name: string
  /** Reads for about `ms` at most. */
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

export function wrongCursor(): HighkiqError {
  // The cursor is not quoted, because it can hold a part of a job that the reader may not see.
  return invalidOption('this is not a cursor: pass the next of a page', { problem: 'cursor' })
}

export function isIn({ at }: JobHit, { from, until }: Pick<Matcher, 'from' | 'until'>): boolean {
  if (from === Number.NEGATIVE_INFINITY && until === Number.POSITIVE_INFINITY) return true
  return at !== null && at.getTime() >= from && at.getTime() < until
}

/** Cancels the jobs of these pages, page by page. */
export async function cancelPages(
  app: Pick<AppPort, 'store' | 'now'>,
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
