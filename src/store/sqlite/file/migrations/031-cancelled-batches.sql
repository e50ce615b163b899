-- Batches that are being cancelled.
ALTER TABLE batch ADD COLUMN cancelling INTEGER NOT NULL DEFAULT 0;
CREATE INDEX cancelling_batch ON batch (progress_at) WHERE cancelling = 1;
DROP VIEW batch_record;
CREATE VIEW batch_record AS SELECT bid, parent, depth, meta, on_complete AS onComplete, on_success AS onSuccess, on_death AS onDeath,
  job, keep, created_at AS createdAt, total, pending, retrying, dead, failed, succeeded, progress_at AS progressAt,
  completed_at AS completedAt, succeeded_at AS succeededAt, died_at AS diedAt, expires_at AS expiresAt,
  cancelling FROM batch;
