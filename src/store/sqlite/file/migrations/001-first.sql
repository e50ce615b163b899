-- Rows are deleted rather than marked, and each index serves one question.

CREATE TABLE queue (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  -- Places already given at either end. They only ever move outwards, so a place (and with it a ticket) is never used twice.
  head INTEGER NOT NULL DEFAULT 0,
  tail INTEGER NOT NULL DEFAULT 0,
  size INTEGER NOT NULL DEFAULT 0
) STRICT;

-- A job that waits in its queue; the lowest place runs next.
CREATE TABLE ready (
  queue INTEGER NOT NULL,
  place INTEGER NOT NULL,
  text  TEXT NOT NULL,
  PRIMARY KEY (queue, place)
) STRICT, WITHOUT ROWID;

-- A worker's epoch. `ends` is in milliseconds of the monotonic clock of `boot`.
CREATE TABLE owner (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  name    TEXT NOT NULL UNIQUE,
  host    TEXT NOT NULL,
  boot    TEXT NOT NULL,
  ends    INTEGER NOT NULL,
  seconds REAL NOT NULL,
  claimed INTEGER NOT NULL DEFAULT 0
) STRICT;

-- A job that an owner took. (queue, place) is its ticket.
CREATE TABLE working (
  owner INTEGER NOT NULL,
  queue INTEGER NOT NULL,
  place INTEGER NOT NULL,
  text  TEXT NOT NULL,
  PRIMARY KEY (owner, queue, place)
) STRICT, WITHOUT ROWID;

CREATE TABLE sorted_set (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  size INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO sorted_set (id, name) VALUES (1, 'retry'), (2, 'schedule'), (3, 'dead');

CREATE TABLE entry (
  "set" INTEGER NOT NULL,
  score REAL NOT NULL,
  text  TEXT NOT NULL,
  PRIMARY KEY ("set", score, text)
) STRICT, WITHOUT ROWID;

-- One row a UTC day, and the totals under the day ''.
CREATE TABLE stat (
  day       TEXT PRIMARY KEY,
  processed INTEGER NOT NULL DEFAULT 0,
  failed    INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
INSERT INTO stat (day) VALUES ('');

CREATE TABLE duty (
  name   TEXT PRIMARY KEY,
  holder TEXT NOT NULL,
  boot   TEXT NOT NULL,
  ends   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE process (
  identity    TEXT PRIMARY KEY,
  info        TEXT NOT NULL,
  concurrency INTEGER NOT NULL,
  busy        INTEGER NOT NULL,
  beat        INTEGER NOT NULL,
  quiet       INTEGER NOT NULL,
  rss         INTEGER NOT NULL,
  boot        TEXT NOT NULL,
  ends        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE signal (
  id       INTEGER PRIMARY KEY,
  identity TEXT NOT NULL,
  name     TEXT NOT NULL CHECK (name IN ('TSTP', 'TERM', 'TTIN'))
) STRICT;
CREATE INDEX signal_of_process ON signal (identity, id);

CREATE TABLE task (
  key         INTEGER PRIMARY KEY,
  id          TEXT NOT NULL UNIQUE CHECK (length(id) = 16),
  name        TEXT NOT NULL,
  job         TEXT NOT NULL,
  queue       TEXT NOT NULL,
  template    TEXT NOT NULL,
  window      INTEGER NOT NULL CHECK (window > 0),
  keep_params TEXT NOT NULL CHECK (keep_params IN ('rejected', 'all', 'none')),
  meta        TEXT NOT NULL,
  adder       TEXT NOT NULL,
  state       TEXT NOT NULL CHECK (state IN ('adding', 'running', 'paused', 'interrupted', 'cancelling', 'done', 'cancelled')),
  run         INTEGER NOT NULL DEFAULT 1,
  total       INTEGER NOT NULL DEFAULT 0,
  -- The first index that was never issued to the queue: rows from here on wait as they are.
  next        INTEGER NOT NULL DEFAULT 0,
  held        INTEGER NOT NULL DEFAULT 0 CHECK (held >= 0),
  placed      INTEGER NOT NULL DEFAULT 0 CHECK (placed >= 0),
  enqueued    INTEGER NOT NULL DEFAULT 0 CHECK (enqueued >= 0),
  working     INTEGER NOT NULL DEFAULT 0 CHECK (working >= 0),
  finished    INTEGER NOT NULL DEFAULT 0 CHECK (finished >= 0),
  failed      INTEGER NOT NULL DEFAULT 0 CHECK (failed >= 0),
  error       INTEGER NOT NULL DEFAULT 0 CHECK (error >= 0),
  cancelled   INTEGER NOT NULL DEFAULT 0 CHECK (cancelled >= 0),
  created_at  INTEGER NOT NULL,
  progress_at INTEGER,
  finished_at INTEGER,
  CHECK (enqueued + working + finished + failed + error + cancelled = total)
) STRICT;
CREATE INDEX task_by_age ON task (created_at, id);
CREATE INDEX adding_task ON task (adder) WHERE state = 'adding';

-- How far each submitter has come.
CREATE TABLE adder (
  task   INTEGER NOT NULL REFERENCES task ON DELETE CASCADE,
  token  TEXT NOT NULL,
  cursor INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (task, token)
) STRICT, WITHOUT ROWID;

-- status: 0 enqueued, 1 working, 2 finished, 3 failed, 4 error, 5 cancelled.
-- place: 0 waits in the backlog, 1 in the queue or with an owner (or, from task.next on, waits as a row), 2 elsewhere.
-- step: twice the attempt, plus one when it has ended.
CREATE TABLE event (
  task        INTEGER NOT NULL REFERENCES task ON DELETE CASCADE,
  idx         INTEGER NOT NULL,
  status      INTEGER NOT NULL CHECK (status BETWEEN 0 AND 5),
  place       INTEGER NOT NULL CHECK (place BETWEEN 0 AND 2),
  run         INTEGER NOT NULL,
  step        INTEGER NOT NULL,
  number      INTEGER,
  code        TEXT,
  started_at  INTEGER,
  finished_at INTEGER,
  args        TEXT,
  source      TEXT,
  result      TEXT,
  PRIMARY KEY (task, idx)
) STRICT, WITHOUT ROWID;
-- A page of the rejected rows of a large task.
CREATE INDEX rejected_event ON event (task, status, idx) WHERE status >= 3;

-- Rows that came back from elsewhere while the window was full; the lowest place goes next, before the rows never issued.
CREATE TABLE backlog (
  task  INTEGER NOT NULL REFERENCES task ON DELETE CASCADE,
  place INTEGER NOT NULL,
  idx   INTEGER NOT NULL,
  text  TEXT NOT NULL,
  PRIMARY KEY (task, place)
) STRICT, WITHOUT ROWID;

CREATE TABLE message (
  task   INTEGER NOT NULL REFERENCES task ON DELETE CASCADE,
  idx    INTEGER NOT NULL,
  n      INTEGER NOT NULL,
  at     INTEGER NOT NULL,
  code   TEXT NOT NULL,
  params TEXT NOT NULL,
  PRIMARY KEY (task, idx, n)
) STRICT, WITHOUT ROWID;
