-- The locks of unique jobs.
CREATE TABLE unique_lock (
  key    TEXT PRIMARY KEY,
  holder TEXT NOT NULL,
  ends   INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX unique_lock_by_end ON unique_lock (ends) WHERE ends IS NOT NULL;
