-- What runs by the clock. What is due lies behind `tick` (ms). `ends` is when nobody lives any more who defines it so, on
-- the monotonic clock of `boot`.
CREATE TABLE cron (
  name      TEXT PRIMARY KEY,
  text      TEXT NOT NULL,
  tick      INTEGER NOT NULL,
  paused    INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
  jid       TEXT,
  pushed_at INTEGER,
  boot      TEXT NOT NULL,
  ends      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Which job has a lock.
CREATE TABLE lock (
  name   TEXT PRIMARY KEY,
  holder TEXT NOT NULL
) STRICT, WITHOUT ROWID;
