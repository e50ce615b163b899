-- The depth of nested batches. That of earlier ones is not counted.
ALTER TABLE batch ADD COLUMN depth INTEGER NOT NULL DEFAULT 1;
DROP VIEW batch_record;
CREATE VIEW batch_record AS SELECT bid, parent, depth, meta, on_complete AS onComplete, on_success AS onSuccess, on_death AS onDeath,
  job, keep, created_at AS createdAt, total, pending, retrying, dead, failed, succeeded, progress_at AS progressAt,
  completed_at AS completedAt, succeeded_at AS succeededAt, died_at AS diedAt, expires_at AS expiresAt FROM batch;
