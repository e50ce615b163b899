-- What became of a job, for who waits for it; `ends` is in milliseconds since the epoch.
CREATE TABLE result (
  jid  TEXT PRIMARY KEY,
  text TEXT NOT NULL,
  ends INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX result_by_end ON result (ends);
