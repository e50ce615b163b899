/** Changes that a store makes in the same atomic step in which it moves a job. */

import type { Limit } from './limits.ts'
import type { EventStatus, Message } from './task-events.ts'

/**
 * Changes the event of a tracked job.
 *
 * The effect applies if its (run, attempt, begun before ended) is not older than the event's. It also applies to a final
 * event, which it re-opens, unless `endDeferred` ended that event in this run. Otherwise, or when the task is gone, it has
 * no effect. It is idempotent.
 */
export interface EventEffect {
  kind: 'event'
  /** The event's id: 16 hex digits of the task and 8 of the row's index. */
  jid: string
  run: number
  /** The attempt (1 = first) that begins (`working`) or has ended (any other status). */
  attempt: number
  status: EventStatus
  at: number
  /** When the attempt began, if its start was not reported in an earlier call. */
  startedAt?: number
  /**
   * What happens in the task's window. `keep`: the job stays in the queue or with an owner. `leave`: the job goes to a
   * set or has ended, and the next row of the backlog enters the window. `enter`: the job comes back, into the queue if
   * the window has room, else to the front of the task's backlog. `park`: the attempt's handler has returned and its job is
   * settled, but the row stays `working`, because the attempt is deferred (`TaskStore.defer`); it leaves the window. If
   * the row, or its task, is being cancelled, the row is cancelled instead.
   */
  window: 'keep' | 'leave' | 'enter' | 'park'
  /** The code of the reason, for `failed`, `error` and `cancelled`. */
  code?: string
  messages?: Message[]
  /** JSON text, at most 16 kB. */
  result?: string
}

/** How far an iteration has come: a job that processes many items, one by one. */
export interface IterationState {
  /** Attempts begun, this one included. */
  executions: number
  /** Seconds, the sum of all attempts. */
  runtime: number
  /** JSON text of the position from which the next attempt starts. */
  cursor: string
}

/** The stored state of an iteration. One that was cancelled before its first attempt has only `cancelled`. */
export interface IterationRecord extends Omit<IterationState, 'cursor'> {
  /** JSON text; null before the first item. */
  cursor: string | null
  /** When it was cancelled, in milliseconds; null: it was not. */
  cancelled: number | null
}

/** Changes the stored state of an iteration. */
export interface IterationEffect {
  kind: 'iteration'
  jid: string
  /** null: the state is removed. */
  state: IterationState | null
}

/** Removes the cancellation of a job that has ended or will not run. Without a cancellation it has no effect. */
export interface CancellationEffect {
  kind: 'clear-cancellation'
  jid: string
  at: number
  /** Whether the job did not finish because of its cancellation; the store remembers this for DROPPED_LIFE_MS. */
  dropped: boolean
  /** Whether a dropped job was running. */
  begun?: boolean
}

/** Releases a lock if `holder` (a jid) still has it. It is idempotent. */
export interface ReleaseLockEffect {
  kind: 'release-lock'
  lock: string
  holder: string
}

/** `retrying`: the last attempt failed. `failed`: the job ended without success and is not in the dead set. */
export type CronRunState = 'waiting' | 'running' | 'retrying' | 'succeeded' | 'failed' | 'dead' | 'cancelled'

/**
 * Changes how a run of a cron entry goes on. It has no effect when the entry was removed, or remembers this run no longer.
 */
export interface CronRunEffect {
  kind: 'cron-run'
  /** The name of the entry. */
  name: string
  jid: string
  state: CronRunState
  /** null: as it was. */
  startedAt: number | null
  endedAt: number | null
}

/** Releases the lock of a unique job if `holder` (a jid) still has it. It is idempotent. */
export interface ReleaseUniqueEffect {
  kind: 'release-unique'
  key: string
  holder: string
}

/**
 * The job waits, perhaps in another place. If it has its lock, the suspicion of UniqueStore.suspect is removed. With `acquire` it gets the
 * lock if the lock is free.
 */
export interface KeepUniqueEffect {
  kind: 'keep-unique'
  key: string
  holder: string
  acquire: boolean
  /** As in UniqueClaim, for a lock that the job gets. */
  ends?: number
  /** The score with which the job is scheduled now. */
  due?: number
}

/** Releases the slot of an attempt. It is idempotent. */
export interface ReleaseSlotEffect {
  kind: 'release-slot'
  limit: string
  owner: string
  ticket: string
}

/** The job goes to the set of jobs that wait for room in this limit. */
export interface AwaitLimitEffect {
  kind: 'await-limit'
  limit: Limit
}

/** Deletes the kept result of a job (`ResultStore.keep`): the job starts over. It is idempotent. */
export interface DeleteResultEffect {
  kind: 'delete-result'
  jid: string
}

/** Records an event of a job, if the store has a recording. A reader gets the array [jid, ...about]. */
export interface RecordEffect {
  kind: 'record'
  jid: string
  /** JSON text of an array. */
  about: string
}

/** Returns the events that are recorded with some items. */
export function recordsIn(items: readonly { effects?: readonly Effect[] | undefined }[]): RecordEffect[] {
  const records: RecordEffect[] = []
  for (const { effects } of items) {
    if (effects) for (const one of effects) if (one.kind === 'record') records.push(one)
  }
  return records
}

/** Returns whether nothing changes but the record of events. */
export function hasOnlyRecords({ effects }: { effects?: readonly Effect[] | undefined }): boolean {
  return effects === undefined || effects.every(isRecord)
}

function isRecord({ kind }: Effect): boolean {
  return kind === 'record'
}

/** How a member of a batch goes on, or how it has ended. */
export type MemberChange =
  | 'waiting'
  /** It keeps waiting, in another place. This counts as progress of the batch, and changes nothing else. */
  | 'moved'
  /** Its attempt failed, and it runs again. Each further failure is progress of the batch, too. */
  | 'retrying'
  /** It is in the dead set. */
  | 'dead'
  | 'succeeded'
  /** It ended without success and will not run again. */
  | 'failed'
  /** It ended without success after it had used up its retries. */
  | 'died'
  /** The member was no job: the batch does not count it. In a batch that is being cancelled it has failed. */
  | 'withdrawn'

/** What a batch keeps about an ended member. */
export interface BatchNote {
  key: string
  text: string
}

/** Changes an open member of a batch. It is idempotent. Without such a batch or member it has no effect. */
export interface BatchEffect {
  kind: 'batch'
  bid: string
  member: string
  change: MemberChange
  note?: BatchNote | undefined
}

export type Effect =
  | BatchEffect
  | EventEffect
  | IterationEffect
  | CancellationEffect
  | CronRunEffect
  | ReleaseLockEffect
  | ReleaseUniqueEffect
  | KeepUniqueEffect
  | ReleaseSlotEffect
  | AwaitLimitEffect
  | DeleteResultEffect
  | RecordEffect
