-- What ended of a class in a span of 1 or 10 minutes. `at`: milliseconds, where the span begins.
CREATE TABLE metric (
  span      INTEGER NOT NULL CHECK (span IN (1, 10)),
  at        INTEGER NOT NULL,
  name      TEXT NOT NULL,
  processed INTEGER NOT NULL,
  failed    INTEGER NOT NULL,
  ms        INTEGER NOT NULL,
  PRIMARY KEY (span, at, name)
) STRICT, WITHOUT ROWID;

-- How many of a class and minute took as long as a bucket says.
CREATE TABLE histogram (
  at     INTEGER NOT NULL,
  name   TEXT NOT NULL,
  bucket INTEGER NOT NULL,
  count  INTEGER NOT NULL,
  PRIMARY KEY (at, name, bucket)
) STRICT, WITHOUT ROWID;

-- The last batch of each process: a batch counts once.
CREATE TABLE metric_source (
  source TEXT PRIMARY KEY,
  number INTEGER NOT NULL,
  at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- `at`: the minute that it stands at; `marked`: when that was said.
CREATE TABLE deploy (
  at     INTEGER PRIMARY KEY,
  label  TEXT NOT NULL,
  marked INTEGER NOT NULL
) STRICT;

-- How far a job has come that goes through many items.
CREATE TABLE iteration (
  jid        TEXT PRIMARY KEY,
  executions INTEGER NOT NULL,
  runtime    REAL NOT NULL,
  cursor     TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX iteration_by_age ON iteration (created_at);
