/** What follows from a change of a batch: counts, callbacks, the waiting job, and the batch around it. Stores share it. */

import { completeBatchJob } from '../../job/payload.ts'
import type { BatchJob, BatchRecord, BatchSpec, MemberState, ParentJob } from './batches.ts'
import type { BatchEffect, BatchNote, MemberChange } from './effects.ts'

/** A batch as it is stored. A callback is null once it was pushed. */
export interface BatchState extends BatchRecord, BatchSpec {
  /** When the batch is deleted; null: a member is open. */
  expiresAt: number | null
}

/** Where a ledger reads and writes. All changes of one call must be one atomic step. */
export interface BatchTables {
  load(bid: string): BatchState | undefined
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
}

/** Returns a new batch without members. */
export function newBatch(spec: BatchSpec, now: number): BatchState {
  const counts = { total: 0, pending: 0, retrying: 0, dead: 0, failed: 0, succeeded: 0 }
  return { ...spec, ...counts, progressAt: now, completedAt: null, succeededAt: null, diedAt: null, expiresAt: null }
}

export class BatchLedger {
  readonly #tables: BatchTables
  readonly #now: number

  constructor(tables: BatchTables, now: number) {
    this.#tables = tables
    this.#now = now
  }

  /** Adds members to a batch. */
  add(bid: string, ids: readonly string[]): void {
    const batch = this.#tables.load(bid)
    if (!batch) return
    const added = this.#tables.addMembers(bid, ids)
    batch.total += added
    batch.pending += added
    batch.progressAt = this.#now
    this.#tables.save(batch)
  }

  /** Notices that a new batch has no members. */
  open(bid: string): void {
    const batch = this.#tables.load(bid)
    if (batch && batch.total === 0) this.#advance(batch)
  }

  change({ bid, member, change, note }: Omit<BatchEffect, 'kind'>): void {
    const old = this.#tables.member(bid, member)
    const state = stateAfter(change)
    const batch = old === undefined || old === state ? undefined : this.#tables.load(bid)
    if (!batch) return
    this.#tables.setMember(bid, member, state)
    if (old === 'dead') batch.dead--
    else batch.pending--
    if (old === 'retrying') batch.retrying--
    if (state === 'dead') batch.dead++
    else if (state !== null) batch.pending++
    else if (change === 'succeeded') batch.succeeded++
    else batch.failed++
    if (state === 'retrying') batch.retrying++
    batch.progressAt = this.#now
    if (note) this.#tables.note(bid, note)
    if (change === 'dead' || change === 'died') this.#die(batch)
    this.#advance(batch)
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

  #advance(batch: BatchState): void {
    const isComplete = batch.pending === 0
    const isOver = isComplete && batch.dead === 0
    const wasComplete = batch.completedAt !== null
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
    if (job && fate) this.#release(batch, job, fate)
    else if (!job && batch.parent !== null && (isComplete || wasComplete)) this.#tell(batch, batch.parent)
  }

  /** Pushes a callback once. It becomes a member of the batch around this one. */
  #call(batch: BatchState, which: 'onComplete' | 'onSuccess' | 'onDeath'): void {
    const job: BatchJob | null = batch[which]
    if (!job) return
    batch[which] = null
    if (batch.parent !== null) this.add(batch.parent, [job.jid])
    this.#tables.push(job.queue, completeBatchJob(job.text, this.#now))
  }

  #release({ parent }: BatchState, { jid, queue, text, failure, note }: ParentJob, fate: 'queue' | 'dead'): void {
    if (fate === 'queue') {
      this.#tables.push(queue, completeBatchJob(text, this.#now))
      return
    }
    this.#tables.addToDead(completeBatchJob(text, this.#now, failure), this.#now)
    if (parent !== null) this.change({ bid: parent, member: jid, change: 'dead', note })
  }

  /** Changes a batch as a member of the one around it. */
  #tell({ bid, pending, dead, failed }: BatchState, parent: string): void {
    const ended = dead > 0 ? 'dead' : failed > 0 ? 'failed' : 'succeeded'
    this.change({ bid: parent, member: bid, change: pending > 0 ? 'waiting' : ended })
  }
}

/** Returns the state of a member after a change; null: it has ended. */
function stateAfter(change: MemberChange): MemberState | null {
  return change === 'waiting' || change === 'retrying' || change === 'dead' ? change : null
}

/** Returns where the waiting job of a batch goes now; undefined: it goes on waiting. */
function fateOf({ onChildFailure }: ParentJob, { pending, dead, failed }: BatchState): 'queue' | 'dead' | undefined {
  if (pending === 0 && dead + failed === 0) return 'queue'
  if (onChildFailure === 'ignore') return pending === 0 ? 'queue' : undefined
  if (onChildFailure === 'fail') return dead + failed > 0 ? 'dead' : undefined
  return pending + dead === 0 ? 'dead' : undefined
}
