/**
 * Batches: jobs that belong together, and the jobs that are pushed when all of them have ended.
 *
 * A member of a batch is a job, by its jid, or a nested batch, by its bid. A member is open until it has ended. A dead
 * member is open, too, because it may be retried by hand, but the batch does not wait for it to be complete.
 */

import { invalidOption } from '../../job/errors.ts'
import { isBid, newTaskId, readPayload } from '../../job/payload.ts'
import type { BatchEffect, BatchNote } from './effects.ts'
import type { PushItem, RefusedPush } from './push-items.ts'

/** What a member that did not succeed does to the job that waits for the batch: see `BatchSpec.job`. */
export const CHILD_FAILURES = ['fail', 'ignore', 'wait'] as const
export type ChildFailure = (typeof CHILD_FAILURES)[number]

/** A job that a batch pushes. The store adds `enqueued_at` to its text, as it does to a task's callback. */
export interface BatchJob {
  jid: string
  queue: string
  /** JSON text of an object; see `completeBatchJob`. */
  text: string
  /** Recorded, as by the effect `record`, in the step that pushes the job or in which it does not run. */
  events?: BatchJobEvents | undefined
}

/** The `about` of each event, with a line break in the place of its time (ms): no other is in a JSON text. */
export interface BatchJobEvents {
  pushed: string
  /** The events of a waiting job that goes to the dead set. */
  dead?: string
  /** The events of a waiting job that is dropped. */
  cancelled?: string
}

/** A job that waits until all members have ended: the parent in a flow. */
export interface ParentJob extends BatchJob {
  /**
   * `fail`: when the first member is dead or has failed, the job goes to the dead set. `ignore`: the job is pushed when no
   * member is pending. `wait`: the job waits until dead members were retried; once one has failed and none is open, it goes
   * to the dead set.
   */
  onChildFailure: ChildFailure
  /** The members of its text that say why it is dead. */
  failure: string
  /** What the batch of which this job is a member notes then. */
  note?: BatchNote | undefined
  /** What the store keeps as its result, for `seconds`, when it goes to the dead set or is dropped. Absent: nothing. */
  ends?: ParentEnds | undefined
}

export interface ParentEnds {
  seconds: number
  /** A stored result, as of `ResultStore.keep`. */
  dead: string
  cancelled: string
}

export interface BatchSpec {
  /** 16 hex digits. */
  bid: string
  /** The batch of which this one, or its waiting job, is a member. Callbacks become members of it. */
  parent: string | null
  /** JSON text, opaque to the store. */
  meta: string
  /** Pushed once, when no member is pending for the first time. */
  onComplete: BatchJob | null
  /** Pushed once, when all members have succeeded. */
  onSuccess: BatchJob | null
  /** Pushed once, when the first job of the batch, or of a batch inside it, has died. */
  onDeath: BatchJob | null
  /** Pushed once, or moved to the dead set; then the batch has no callbacks. */
  job: ParentJob | null
  /** Milliseconds for which the record is kept once no member is open. */
  keep: number
  createdAt: number
}

export interface BatchRecord
  extends Pick<BatchSpec, 'bid' | 'parent' | 'meta' | 'keep' | 'createdAt' | 'onComplete' | 'onSuccess' | 'onDeath'> {
  /** The number of batches around this one, and this one; at most MOST_NESTED. */
  depth: number
  /** Whether it was cancelled and has pending members. */
  cancelling: boolean
  /** The waiting job; null when it is not waiting. */
  job: ParentJob | null
  /** All members: pending, dead, failed and succeeded ones. */
  total: number
  /** Members that have not ended, with `retrying`. */
  pending: number
  /** Pending jobs whose last attempt failed. */
  retrying: number
  /** Members in the dead set. */
  dead: number
  /** Members that ended without success and will not run again. */
  failed: number
  succeeded: number
  progressAt: number
  completedAt: number | null
  succeededAt: number | null
  diedAt: number | null
}

/** The state of an open member. */
export const MEMBER_STATES = ['waiting', 'retrying', 'dead'] as const
export type MemberState = (typeof MEMBER_STATES)[number]

export interface BatchMember {
  id: string
  state: MemberState
}

/** A new member of a batch. `item` is null for a nested batch, and for a job that waits in a nested batch. */
export interface NewMember {
  bid: string
  id: string
  /** Without `once`; its effects are `record`, `delete-result`, and an `iteration` that is removed. */
  item: PushItem | null
  /** Decides what happens while another job has a lock of `item`. `drop` (default): it is not stored. `raise`: the push is refused. */
  onConflict?: 'drop' | 'raise' | undefined
}

/** What one call stores. Members belong to these batches, or to earlier ones. */
export interface BatchPush {
  batches: readonly BatchSpec[]
  members: readonly NewMember[]
}

/**
 * Refuses unique members of a batch on shards: all members are on one shard, and the lock of a unique one may be on another.
 * A lock by its jid is allowed.
 * @throws INVALID_OPTION
 */
export function refuseUniqueMembers({ members }: BatchPush): void {
  const locked = members.find(({ id, item }) => item?.unique?.claims.some(({ key }) => !key.endsWith(id)))
  if (!locked) return
  const name = (readPayload(locked.item?.text ?? '') ?? { class: locked.id }).class
  throw invalidOption(
    `${name}: with shards, a unique job can't be in a batch, because its lock may be on another shard: push it outside of the batch, or with set({ unique: false })`,
  )
}

/** The end of the id of a placeholder: a member that is not a job, and keeps its batch open while jobs are added in several steps. */
const PLACEHOLDER = 'fc000005'

export function newPlaceholder(): string {
  return newTaskId() + PLACEHOLDER
}

export function isPlaceholder(member: string): boolean {
  return member.endsWith(PLACEHOLDER) && isBid(member.slice(0, -PLACEHOLDER.length))
}

/** The most batches inside each other. */
export const MOST_NESTED = 500

/**
 * Why a push of batches was refused. `unknown`: the store has no batch `bid`. `ended`: the batch has no pending member.
 * `cancelled`: it is being cancelled. `repeated`: the batch would have the open member `member` twice. `too-deep`: the new
 * batch `bid` would be inside MOST_NESTED others. `held`: job `holder` has a lock of `member`, whose `onConflict` is `raise`.
 */
export interface BatchRefusal {
  reason: 'unknown' | 'ended' | 'cancelled' | 'repeated' | 'too-deep' | 'held'
  bid: string
  member?: string | undefined
  holder?: string | undefined
}

export type BatchProgress = Pick<BatchRecord, 'progressAt' | 'bid'>
export type BatchCreation = Pick<BatchRecord, 'createdAt' | 'bid'>

/** Reads batches. */
export interface BatchReader {
  find(bid: string): Promise<BatchRecord | null>
  /**
   * Returns a page of batches, newest first, by (createdAt, bid). `next` is the `before` of the next page; null: it was the
   * last one. A page may have fewer batches than `limit`, or none, although `next` is set.
   */
  page(page: {
    before?: BatchCreation | undefined
    limit: number
  }): Promise<{ items: BatchRecord[]; next: BatchCreation | null }>
  /**
   * Returns a page of open members, in any order; a member that stays open is found at least once. `next` is the `after` of
   * the next page; null: it was the last one. A page may have more members than `limit`.
   */
  members(
    bid: string,
    page: { after?: string | undefined; limit: number },
  ): Promise<{ items: BatchMember[]; next: string | null }>
  /** Returns what the batch has noted about ended members, by key. */
  notes(bid: string): Promise<Record<string, string>>
}

export interface BatchStore extends BatchReader {
  /**
   * Creates batches with their first members, adds members to earlier batches, and stores jobs: all of it or nothing. A new
   * batch without members has succeeded at once. `exists`: the first of the batches exists, and nothing changed, so a
   * repeated creation is harmless. A refusal: nothing changed. Otherwise the answer has the jobs that were refused because of a
   * lock, also of their own by an earlier push. They are no members. A job with a lock that comes twice in one call is
   * stored once, unless its `onConflict` is `raise`.
   * @throws PushError, as `jobs.push`
   */
  push(push: BatchPush, now: number): Promise<'exists' | BatchRefusal | readonly RefusedPush[]>
  /**
   * Drops the waiting job of a batch, which has then failed in the batch around it, and keeps its result. Returns whether there
   * was one. A batch with pending members is being cancelled until it has none: it takes no members, and a callback of a
   * batch inside it is dropped instead of pushed. An unknown batch changes nothing.
   */
  cancel(bid: string, now: number): Promise<boolean>
  /** Returns a page of the batches that are being cancelled, in any order, as `members` does. */
  cancelling(page: { after?: string | undefined; limit: number }): Promise<{ items: string[]; next: string | null }>
  /** Applies effects without a job, for members whose jobs are nowhere. Returns for each whether its member was open before it. */
  apply(effects: readonly BatchEffect[], now: number): Promise<boolean[]>
  /**
   * Returns batches with open members and no progress since `before`, by (progressAt, bid) from behind `after`. `next` is
   * the `after` of the next page; null: it was the last one.
   */
  idle(
    before: number,
    page: { after?: BatchProgress | undefined; limit: number },
  ): Promise<{ items: BatchRecord[]; next: BatchProgress | null }>
  /**
   * Deletes at most `limit` batches that are kept no longer, and returns how many. A store on another
   * machine subtracts the time by which this machine's clock is ahead of its own.
   */
  prune(now: number, limit: number): Promise<number>
}

/** Returns the batches of new members, each with the ids of those that are kept. */
export function idsByBatch(
  members: readonly NewMember[],
  isKept: (member: NewMember) => boolean = () => true,
): Map<string, string[]> {
  const all = new Map<string, string[]>()
  for (const member of members) {
    const ids = all.get(member.bid) ?? []
    if (ids.length === 0) all.set(member.bid, ids)
    if (isKept(member)) ids.push(member.id)
  }
  return all
}
