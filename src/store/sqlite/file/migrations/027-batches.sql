-- Batches; see the comments in the schema.
CREATE TABLE batch (
  bid          TEXT PRIMARY KEY,
  parent       TEXT,
  meta         TEXT NOT NULL,
  on_complete  TEXT,
  on_success   TEXT,
  on_death     TEXT,
  job          TEXT,
  keep         INTEGER NOT NULL,
  created_at   INTEGER NOT NULL,
  total        INTEGER NOT NULL DEFAULT 0,
  pending      INTEGER NOT NULL DEFAULT 0 CHECK (pending >= 0),
  retrying     INTEGER NOT NULL DEFAULT 0 CHECK (retrying >= 0),
  dead         INTEGER NOT NULL DEFAULT 0 CHECK (dead >= 0),
  failed       INTEGER NOT NULL DEFAULT 0,
  succeeded    INTEGER NOT NULL DEFAULT 0,
  progress_at  INTEGER NOT NULL,
  completed_at INTEGER,
  succeeded_at INTEGER,
  died_at      INTEGER,
  expires_at   INTEGER,
  CHECK (pending + dead + failed + succeeded = total)
) STRICT, WITHOUT ROWID;
CREATE INDEX batch_by_age ON batch (created_at, bid);
CREATE INDEX open_batch ON batch (progress_at, bid) WHERE pending + dead > 0;
CREATE INDEX expiring_batch ON batch (expires_at) WHERE expires_at IS NOT NULL;
-- A batch under the names that the code uses.
CREATE VIEW batch_record AS SELECT bid, parent, meta, on_complete AS onComplete, on_success AS onSuccess, on_death AS onDeath, job, keep,
  created_at AS createdAt, total, pending, retrying, dead, failed, succeeded, progress_at AS progressAt,
  completed_at AS completedAt, succeeded_at AS succeededAt, died_at AS diedAt, expires_at AS expiresAt FROM batch;

CREATE TABLE batch_member (
  bid   TEXT NOT NULL,
  id    TEXT NOT NULL,
  state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 2),
  PRIMARY KEY (bid, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE batch_note (
  bid  TEXT NOT NULL,
  key  TEXT NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (bid, key)
) STRICT, WITHOUT ROWID;
