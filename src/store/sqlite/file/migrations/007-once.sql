-- Jobs whose push may be repeated, and when (ms) they were stored.
CREATE TABLE pushed_once (
  jid TEXT PRIMARY KEY,
  at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX pushed_once_by_time ON pushed_once (at);
