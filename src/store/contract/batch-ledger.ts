/** Computes what a change of a batch changes: counts, callbacks, the waiting job, and the batch around it. Stores share it. */

import { completeBatchJob } from '../../job/payload.ts'
import {
  type BatchJob,
  type BatchJobEvents,
  type BatchPush,
  type BatchRecord,
  type BatchRefusal,
  type BatchSpec,
  idsByBatch,
  type MemberState,
  MOST_NESTED,
  type NewMember,
  type ParentJob,
} from './batches.ts'
import type { BatchEffect, BatchNote, MemberChange } from './effects.ts'
import type { PushItem, RefusedPush } from './push-items.ts'

/** A batch as it is stored. A callback is null once it was pushed; one that was dropped stays. */
export interface BatchState extends BatchRecord, BatchSpec {
  /** When the batch is deleted; null: a member is open. */
  expiresAt: number | null
}

/** Where a ledger reads and writes. All changes of one call must be one atomic step. */
export interface BatchTables {
  load(bid: string): BatchState | undefined
  /** Stores a new batch. */
  create(batch: BatchState): void
  save(batch: BatchState): void
  /** Adds members that wait, and returns how many were new. */
  addMembers(bid: string, ids: readonly string[]): number
  /** Returns the state of an open member. */
  member(bid: string, id: string): MemberState | undefined
  /** Sets the state of an open member; null: it has ended. */
  setMember(bid: string, id: string, state: MemberState | null): void
  note(bid: string, note: BatchNote): void
  push(queue: string, text: string): void
  /** Adds a text to the dead set. `now` is in milliseconds. */
  addToDead(text: string, now: number): void
  /** Keeps the result of a job that did not run, as `ResultStore.keep`. */
  keepResult(jid: string, text: string, seconds: number): void
  /** Records an event, as the effect `record`. */
  record(jid: string, about: string, now: number): void
  /** Returns the job that has the lock of a unique job. */
  holder(key: string, now: number): LockHolder | undefined
}

export interface LockHolder {
  holder: string
  /** The score with which it was scheduled. */
  due: number | null
}

/** A change of a member that follows from another change. */
type Change = Omit<BatchEffect, 'kind'>

export class BatchLedger {
  readonly #tables: BatchTables
  readonly #now: number

  constructor(tables: BatchTables, now: number) {
    this.#tables = tables
    this.#now = now
  }

  /**
   * Creates batches, and adds members. Returns the jobs to store, which get their locks then, and those that are refused because
   * of a lock; or why the push is refused: then nothing has changed.
   */
  push({ batches, members }: BatchPush): BatchRefusal | { items: PushItem[]; refused: RefusedPush[] } {
    const { kept, refused, conflict } = this.#admit(members)
    const ids = idsByBatch(members, (member) => kept.has(member))
    const depths = new Map<string, number>()
    for (const { bid, parent } of batches) {
      const around = parent === null ? 0 : (depths.get(parent) ?? this.#tables.load(parent)?.depth ?? 0)
      if (around >= MOST_NESTED) return { reason: 'too-deep', bid }
      depths.set(bid, around + 1)
    }
    for (const [bid, some] of ids) {
      const refusal = this.#refusalOf(bid, some, depths.has(bid))
      if (refusal) return refusal
    }
    if (conflict) return conflict
    const none = { total: 0, pending: 0, retrying: 0, dead: 0, failed: 0, succeeded: 0 }
    const never = { completedAt: null, succeededAt: null, diedAt: null, expiresAt: null }
    for (const spec of batches) {
      const about = { depth: depths.get(spec.bid) as number, cancelling: false, progressAt: this.#now }
      this.#tables.create({ ...spec, ...none, ...never, ...about })
    }
    for (const [bid, some] of ids) this.#add(bid, some)
    // An empty batch has succeeded, and its callbacks belong to the batch around it, so that one comes later.
    for (const { bid } of batches.toReversed()) this.#open(bid)
    return { items: Array.from(kept, ({ item }) => item).filter((item) => item !== null), refused }
  }

  /**
   * Returns the members whose locks are free, as if each was pushed after the one before, and the first conflict that refuses the
   * push.
   */
  #admit(members: readonly NewMember[]) {
    const kept = new Set<NewMember>()
    const refused: RefusedPush[] = []
    const taken = new Map<string, LockHolder & { isNew?: true }>()
    let conflict: BatchRefusal | undefined
    for (const member of members) {
      const { bid, id, item, onConflict } = member
      const { jid, claims } = item?.unique ?? { jid: id, claims: [] }
      const held = claims
        .map(
          ({ key }): (LockHolder & { isNew?: true }) | undefined =>
            taken.get(key) ?? this.#tables.holder(key, this.#now),
        )
        .find(Boolean)
      if (!held || !item) {
        kept.add(member)
        const due = item?.to === 'schedule' ? item.score : null
        for (const { key, ends = Number.POSITIVE_INFINITY } of claims) {
          if (ends > this.#now) taken.set(key, { holder: jid, due, isNew: true })
        }
        continue
      }
      const { holder, due, isNew } = held
      if (isNew && holder === jid && onConflict !== 'raise') continue
      if (onConflict === 'raise') conflict ??= { reason: 'held', bid, member: id, holder }
      refused.push({ item, holder, due })
    }
    return { kept, refused, conflict }
  }

  #refusalOf(bid: string, ids: readonly string[], isNew: boolean): BatchRefusal | undefined {
    const batch = isNew ? undefined : this.#tables.load(bid)
    if (!isNew && !batch?.pending) return { reason: batch ? 'ended' : 'unknown', bid }
    if (batch?.cancelling) return { reason: 'cancelled', bid }
    const seen = new Set<string>()
    for (const member of ids) {
      if (seen.has(member) || (batch && this.#tables.member(bid, member) !== undefined)) {
        return { reason: 'repeated', bid, member }
      }
      seen.add(member)
    }
    return undefined
  }

  #add(bid: string, ids: readonly string[]): void {
    const batch = ids.length > 0 ? this.#tables.load(bid) : undefined
    if (!batch) return
    const added = this.#tables.addMembers(bid, ids)
    batch.total += added
    batch.pending += added
    batch.progressAt = this.#now
    this.#tables.save(batch)
  }

  /** Notices that a new batch has no members. */
  #open(bid: string): void {
    const batch = this.#tables.load(bid)
    const next = batch && batch.total === 0 ? this.#advance(batch) : undefined
    if (next) this.change(next)
  }

  /** See `BatchStore.cancel`. */
  cancel(bid: string): boolean {
    const batch = this.#tables.load(bid)
    if (!batch) return false
    const { job, parent } = batch
    batch.job = null
    batch.cancelling = batch.pending > 0
    this.#tables.save(batch)
    if (job?.ends) this.#tables.keepResult(job.jid, job.ends.cancelled, job.ends.seconds)
    if (job) this.#record(job, 'cancelled')
    if (job && parent !== null) this.change({ bid: parent, member: job.jid, change: 'failed', note: job.note })
    return job !== null
  }

  /** Changes a member, and then the batches around its batch. */
  change(change: Change): void {
    let next: Change | undefined = change
    while (next) next = this.#changeOne(next)
  }

  /** Returns the change of the batch around this one that follows. */
  #changeOne({ bid, member, change, note }: Change): Change | undefined {
    const old = this.#tables.member(bid, member)
    const state = stateAfter(change)
    // A job that fails again has moved: from a worker back to the retries.
    const isMoved = change === 'moved' || (change === 'retrying' && old === state)
    const batch = old === undefined || (old === state && !isMoved) ? undefined : this.#tables.load(bid)
    if (!batch) return undefined
    if (isMoved) {
      batch.progressAt = this.#now
      this.#tables.save(batch)
      return undefined
    }
    this.#tables.setMember(bid, member, state)
    if (old === 'dead') batch.dead--
    else batch.pending--
    if (old === 'retrying') batch.retrying--
    if (state === 'dead') batch.dead++
    else if (state !== null) batch.pending++
    // A job that ignores its cancellation, and succeeds, must not make a cancelled batch succeed.
    else if (change === 'succeeded' && !batch.cancelling) batch.succeeded++
    else if (change === 'withdrawn' && !batch.cancelling) batch.total--
    else batch.failed++
    if (state === 'retrying') batch.retrying++
    batch.progressAt = this.#now
    if (note) this.#tables.note(bid, note)
    if (change === 'dead' || change === 'died') this.#die(batch)
    return this.#advance(batch)
  }

  /** Pushes the callbacks for a death, also those of the batches around this one. */
  #die(batch: BatchState): void {
    let one: BatchState | undefined = batch
    while (one && one.diedAt === null) {
      one.diedAt = this.#now
      this.#call(one, 'onDeath')
      this.#tables.save(one)
      one = one.parent === null ? undefined : this.#tables.load(one.parent)
    }
  }

  /** Returns the change of the batch around this one that follows. */
  #advance(batch: BatchState): Change | undefined {
    const isComplete = batch.pending === 0
    const isOver = isComplete && batch.dead === 0
    const wasComplete = batch.completedAt !== null
    if (isComplete) batch.cancelling = false
    if (isComplete && !wasComplete) {
      batch.completedAt = this.#now
      this.#call(batch, 'onComplete')
    }
    if (isOver && batch.failed === 0 && batch.succeededAt === null) {
      batch.succeededAt = this.#now
      this.#call(batch, 'onSuccess')
    }
    batch.expiresAt = isOver ? this.#now + batch.keep : null
    const { job } = batch
    const fate = job && fateOf(job, batch)
    if (fate) batch.job = null
    this.#tables.save(batch)
    if (job && fate) return this.#release(batch, job, fate)
    const { parent, pending, dead, failed } = batch
    if (job || parent === null || !(isComplete || wasComplete)) return undefined
    const ended = dead > 0 ? 'dead' : failed > 0 ? 'failed' : 'succeeded'
    return { bid: parent, member: batch.bid, change: pending > 0 ? 'waiting' : ended }
  }

  /** Pushes a callback once. It becomes a member of the batch around this one, and is dropped when that is being cancelled. */
  #call(batch: BatchState, which: 'onComplete' | 'onSuccess' | 'onDeath'): void {
    const job: BatchJob | null = batch[which]
    if (!job) return
    if (batch.parent !== null) {
      if (this.#tables.load(batch.parent)?.cancelling) return
      this.#add(batch.parent, [job.jid])
    }
    batch[which] = null
    this.#push(job)
  }

  #push(job: BatchJob): void {
    this.#tables.push(job.queue, completeBatchJob(job.text, this.#now))
    this.#record(job, 'pushed')
  }

  #record({ jid, events }: BatchJob, which: keyof BatchJobEvents): void {
    const about = events?.[which]
    if (about !== undefined) this.#tables.record(jid, about.replace('\n', String(this.#now)), this.#now)
  }

  /** Returns the change of the batch around this one that follows. */
  #release({ parent }: BatchState, job: ParentJob, fate: 'queue' | 'dead'): Change | undefined {
    if (fate === 'queue') {
      this.#push(job)
      return undefined
    }
    const { jid, text, failure, note, ends } = job
    this.#tables.addToDead(completeBatchJob(text, this.#now, failure), this.#now)
    this.#record(job, 'dead')
    if (ends) this.#tables.keepResult(jid, ends.dead, ends.seconds)
    return parent === null ? undefined : { bid: parent, member: jid, change: 'dead', note }
  }
}

/** Returns the state of a member after a change; null: it has ended. */
function stateAfter(change: MemberChange): MemberState | null {
  return change === 'waiting' || change === 'retrying' || change === 'dead' ? change : null
}

/** Returns where the waiting job of a batch goes now; undefined: it keeps waiting. */
function fateOf({ onChildFailure }: ParentJob, { pending, dead, failed }: BatchState): 'queue' | 'dead' | undefined {
  if (pending === 0 && dead + failed === 0) return 'queue'
  if (onChildFailure === 'ignore') return pending === 0 ? 'queue' : undefined
  if (onChildFailure === 'fail') return dead + failed > 0 ? 'dead' : undefined
  return pending + dead === 0 ? 'dead' : undefined
}
