/** Jobs as they are pushed and moved: where they go, and what the store changes with them. To a store a job is a text. */

import type { Refusal } from '../../job/errors.ts'
import type { Effect } from './effects.ts'
import type { OrderedPush } from './ordered.ts'
import type { TaskSpec } from './task-spec.ts'

/**
 * The sets of jobs that are not in a queue, sorted by (score, text). When a set already has exactly the text of a job
 * that is pushed or moved there, white space is appended to the new text, so both stay. `limited:NAME` has the jobs
 * that wait for room in a limit.
 * `moving:ORIGIN:TASK` has the jobs of a frozen task that were in a queue (sorted by their order) or in another set.
 * `finished` has jobs that are done, for display; of those that end with the same text and score it keeps one.
 */
export type SetName = 'retry' | 'schedule' | 'dead' | 'finished' | LimitedSet | MovingSet
export type LimitedSet = `limited:${string}`
export type MovingSet = `moving:${MovingOrigin}:${string}`
export const MOVING_ORIGINS = ['schedule', 'retry', 'queue', 'dead'] as const
export type MovingOrigin = (typeof MOVING_ORIGINS)[number]

/** Returns the sets in which the jobs of a frozen task wait, by where each was before. */
export function movingSets(task: string, origins: readonly MovingOrigin[] = MOVING_ORIGINS): MovingSet[] {
  return origins.map((origin): MovingSet => `moving:${origin}:${task}`)
}

/** Where a job goes. Only a settlement that moves a job to `finished` has `members`; see `FinishedJob`. */
export type Destination =
  | { to: 'queue'; queue: string; text: string; end: 'front' | 'back' }
  | { to: SetName; text: string; score: number; members?: string }

/** The move of a job out of its queue, its set or its dead owner, with its effects. `to: null` drops the job. */
export interface Move {
  to: Destination | null
  effects?: Effect[] | undefined
}

/** For this long a store remembers the id of a push with `once`. */
export const ONCE_SECONDS = 300

/** A lock that a unique job needs in order to be stored. */
export interface UniqueClaim {
  key: string
  /** The lock is free from this time on, in milliseconds of the callers' clocks. */
  ends?: number
  /** The lock is held until `ends`, also when its job has ended before. */
  outlives?: boolean
}

/**
 * A job to store. With `once`, the job's id, the push may be repeated within ONCE_SECONDS, also with another text or
 * destination: a job that was stored before is not stored again. An item with `once` has no effects but `record`,
 * `delete-result`, and an `iteration` that is removed. An item with `unique` is stored if all of its locks are free, and holds
 * them from then on. Else it is refused, also if its own job holds the lock: then an earlier push has stored it. An item with
 * `maxLength` is stored if its queue has fewer jobs than that, of all priorities.
 */
export type PushItem = Destination & {
  effects?: Effect[]
  once?: string
  unique?: { jid: string; claims: readonly UniqueClaim[] }
  maxLength?: number
  /**
   * A limit of the job. A sharded store stores the job on the shard of this limit, so that a slot that is freed starts
   * it at once.
   */
  limit?: string
}

/** An item that was not stored, because a job holds the first of its locks that is held, or because its queue is full. */
export interface RefusedPush extends Refusal {
  item: PushItem
}

/** The answer of a push that refused nothing. */
export const NOTHING_REFUSED: readonly RefusedPush[] = []

/** A single tracked job: the record of its task, which is created in the same step, and the job. */
export interface TrackedPush {
  task: TaskSpec
  item: PushItem
}

/** Ordered jobs for one queue, at most ORDERED_PAGE. A new queue is defined with `shards`. */
export interface OrderedPushes {
  to: 'ordered'
  queue: string
  shards: number
  items: readonly OrderedPush[]
}
