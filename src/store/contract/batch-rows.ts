/** A batch as a row of an SQL table. The jobs are JSON. */

import type { BatchState } from './batch-ledger.ts'
import type { BatchJob, BatchRecord, ParentJob } from './batches.ts'

export type BatchRow = Pick<BatchState, 'bid' | 'parent' | 'depth' | 'meta' | 'keep'> &
  Pick<BatchState, 'total' | 'pending' | 'retrying' | 'dead' | 'failed' | 'succeeded'> &
  Record<'on_complete' | 'on_success' | 'on_death' | 'job', string | null> &
  Record<'created_at' | 'progress_at' | 'cancelling', number> &
  Record<'completed_at' | 'succeeded_at' | 'died_at' | 'expires_at', number | null>

export function stateOf(row: BatchRow): BatchState {
  return {
    ...{ bid: row.bid, parent: row.parent, depth: row.depth, meta: row.meta, keep: row.keep, total: row.total },
    ...{ pending: row.pending, retrying: row.retrying, dead: row.dead, failed: row.failed, succeeded: row.succeeded },
    onComplete: read<BatchJob>(row.on_complete),
    onSuccess: read<BatchJob>(row.on_success),
    onDeath: read<BatchJob>(row.on_death),
    job: read<ParentJob>(row.job),
    cancelling: row.cancelling !== 0,
    createdAt: row.created_at,
    progressAt: row.progress_at,
    completedAt: row.completed_at,
    succeededAt: row.succeeded_at,
    diedAt: row.died_at,
    expiresAt: row.expires_at,
  }
}

export function recordOf(row: BatchRow): BatchRecord {
  const { expiresAt: _, ...record } = stateOf(row)
  return record
}

export function rowOf(batch: BatchState): BatchRow {
  return {
    ...{ bid: batch.bid, parent: batch.parent, depth: batch.depth, meta: batch.meta.toWellFormed(), keep: batch.keep },
    ...{ total: batch.total, pending: batch.pending, retrying: batch.retrying, dead: batch.dead },
    ...{ failed: batch.failed, succeeded: batch.succeeded },
    on_complete: written(batch.onComplete),
    on_success: written(batch.onSuccess),
    on_death: written(batch.onDeath),
    job: written(batch.job),
    cancelling: Number(batch.cancelling),
    created_at: batch.createdAt,
    progress_at: batch.progressAt,
    completed_at: batch.completedAt,
    succeeded_at: batch.succeededAt,
    died_at: batch.diedAt,
    expires_at: batch.expiresAt,
  }
}

function read<Job>(text: string | null): Job | null {
  return text === null ? null : JSON.parse(text)
}

function written(job: BatchJob | null): string | null {
  return job && JSON.stringify(job)
}
