/** The tables of batches; see batch-ledger.ts for what follows from a change. */

import {
  type BatchJob,
  type BatchNote,
  type BatchState,
  type BatchTables,
  MEMBER_STATES,
  type MemberState,
  type ParentJob,
} from '../../contract.ts'
import { Tables } from '../file/database.ts'
import { sql } from '../sql.generated.ts'
import { appendEvents } from './job-events.ts'
import { JobSets } from './job-sets.ts'
import { KeptResults } from './kept-results.ts'
import { Queues } from './queues.ts'
import { lockHolder } from './unique.ts'

/** A row of the table; the jobs are JSON. */
export type BatchRow = Pick<BatchState, 'bid' | 'parent' | 'depth' | 'meta' | 'keep'> &
  Pick<BatchState, 'total' | 'pending' | 'retrying' | 'dead' | 'failed' | 'succeeded'> &
  Record<'on_complete' | 'on_success' | 'on_death' | 'job', string | null> &
  Record<'created_at' | 'progress_at' | 'cancelling', number> &
  Record<'completed_at' | 'succeeded_at' | 'died_at' | 'expires_at', number | null>

export class Batches extends Tables implements BatchTables {
  load(bid: string): BatchState | undefined {
    const row = this.db.first<BatchRow>(sql.batch.load, bid)
    return row && stateOf(row)
  }

  save(batch: BatchState): void {
    this.db.run(
      sql.batch.save,
      ...[batch.onComplete, batch.onSuccess, batch.onDeath, batch.job].map(written),
      ...[batch.total, batch.pending, batch.retrying, batch.dead, batch.failed, batch.succeeded],
      ...[
        batch.progressAt,
        batch.completedAt,
        batch.succeededAt,
        batch.diedAt,
        batch.expiresAt,
        Number(batch.cancelling),
      ],
      batch.bid,
    )
  }

  create(batch: BatchState): void {
    const { bid, parent, depth, meta, onComplete, onSuccess, onDeath, job, keep, createdAt, progressAt } = batch
    const jobs = [onComplete, onSuccess, onDeath, job].map(written)
    this.db.run(sql.batch.create, bid, parent, depth, meta.toWellFormed(), ...jobs, keep, createdAt, progressAt)
  }

  addMembers(bid: string, ids: readonly string[]): number {
    return this.db.run(sql.batch.addMembers, bid, JSON.stringify(ids))
  }

  member(bid: string, id: string): MemberState | undefined {
    const row = this.db.first<{ state: number }>(sql.batch.member, bid, id)
    return row && MEMBER_STATES[row.state]
  }

  setMember(bid: string, id: string, state: MemberState | null): void {
    if (state === null) this.db.run(sql.batch.dropMember, bid, id)
    else this.db.run(sql.batch.setMember, MEMBER_STATES.indexOf(state), bid, id)
  }

  note(bid: string, { key, text }: BatchNote): void {
    this.db.run(sql.batch.note, bid, key, text.toWellFormed())
  }

  push(queue: string, text: string): void {
    this.db.get(Queues).pushBack(queue, [text])
  }

  addToDead(text: string, now: number): void {
    this.db.get(JobSets).add('dead', { text, score: now / 1000 })
  }

  keepResult(jid: string, text: string, seconds: number): void {
    this.db.get(KeptResults).keep(jid, text, seconds)
  }

  record(jid: string, about: string, now: number): void {
    appendEvents(this.db, [{ kind: 'record', jid, about }], now)
  }

  holder(key: string, now: number): ReturnType<BatchTables['holder']> {
    return lockHolder(this.db, key, now)
  }
}

export function stateOf(row: BatchRow): BatchState {
  const {
    on_complete,
    on_success,
    on_death,
    created_at,
    progress_at,
    completed_at,
    succeeded_at,
    died_at,
    expires_at,
  } = row
  return {
    ...{ bid: row.bid, parent: row.parent, depth: row.depth, meta: row.meta, keep: row.keep, total: row.total },
    ...{ pending: row.pending, retrying: row.retrying, dead: row.dead, failed: row.failed, succeeded: row.succeeded },
    onComplete: read<BatchJob>(on_complete),
    onSuccess: read<BatchJob>(on_success),
    onDeath: read<BatchJob>(on_death),
    job: read<ParentJob>(row.job),
    cancelling: row.cancelling !== 0,
    createdAt: created_at,
    progressAt: progress_at,
    completedAt: completed_at,
    succeededAt: succeeded_at,
    diedAt: died_at,
    expiresAt: expires_at,
  }
}

function read<Job>(text: string | null): Job | null {
  return text === null ? null : JSON.parse(text)
}

function written(job: BatchJob | null): string | null {
  return job && JSON.stringify(job)
}
