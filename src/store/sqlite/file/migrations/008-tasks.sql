-- A task's whole life: pauses, several adders, runs, tolerance, callbacks, its end.
DROP INDEX adding_task;
DROP INDEX task_by_age;
ALTER TABLE task ADD COLUMN paused INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1));
-- How many of its adders add, and how many broke off.
ALTER TABLE task ADD COLUMN adders INTEGER NOT NULL DEFAULT 0 CHECK (adders >= 0);
ALTER TABLE task ADD COLUMN broken INTEGER NOT NULL DEFAULT 0 CHECK (broken >= 0);
ALTER TABLE task ADD COLUMN reason TEXT;
ALTER TABLE task ADD COLUMN tolerance TEXT;
ALTER TABLE task ADD COLUMN beyond TEXT NOT NULL DEFAULT 'pause' CHECK (beyond IN ('pause', 'cancel'));
ALTER TABLE task ADD COLUMN on_done TEXT;
ALTER TABLE task ADD COLUMN on_failure TEXT;
-- The last runs for which they were pushed.
ALTER TABLE task ADD COLUMN done_run INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task ADD COLUMN failed_run INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task ADD COLUMN keep INTEGER NOT NULL DEFAULT 2592000000;
ALTER TABLE task ADD COLUMN expires_at INTEGER;
ALTER TABLE task ADD COLUMN unknown_after INTEGER NOT NULL DEFAULT 3600000;
ALTER TABLE task ADD COLUMN single INTEGER NOT NULL DEFAULT 0 CHECK (single IN (0, 1));
-- Where cancelling goes on.
ALTER TABLE task ADD COLUMN swept INTEGER NOT NULL DEFAULT 0;
-- Bytes of its parts.
ALTER TABLE task ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
-- It is being deleted: nobody sees it any more.
ALTER TABLE task ADD COLUMN doomed INTEGER NOT NULL DEFAULT 0 CHECK (doomed IN (0, 1));
CREATE INDEX task_by_age ON task (created_at, id) WHERE single = 0 AND doomed = 0;
CREATE INDEX open_task ON task (key) WHERE enqueued + working > 0 OR state = 'cancelling';
CREATE INDEX expiring_task ON task (expires_at) WHERE expires_at IS NOT NULL;

-- state: 0 adds, 1 has ended, 2 broke off, 3 another took its place, 4 is a row and adds whenever it wants.
-- retry: it puts rows back, and the task is not interrupted by its death.
ALTER TABLE adder ADD COLUMN state INTEGER NOT NULL DEFAULT 1 CHECK (state BETWEEN 0 AND 4);
ALTER TABLE adder ADD COLUMN retry INTEGER NOT NULL DEFAULT 0 CHECK (retry IN (0, 1));
CREATE INDEX open_adder ON adder (token) WHERE state = 0;
UPDATE adder SET state = CASE (SELECT state FROM task WHERE key = adder.task)
  WHEN 'adding' THEN 0 WHEN 'interrupted' THEN 2 ELSE 1 END;
UPDATE task SET
  adders = (SELECT count(*) FROM adder WHERE adder.task = task.key AND adder.state = 0),
  broken = (SELECT count(*) FROM adder WHERE adder.task = task.key AND adder.state = 2),
  done_run = CASE WHEN state = 'done' THEN run ELSE 0 END,
  expires_at = CASE WHEN state IN ('done', 'cancelled') THEN finished_at + keep END;

-- status: 0 enqueued, 1 working, 2 finished, 3 failed, 4 error, 5 cancelled.
-- place: 0 waits in the backlog, 1 in the queue or with an owner, 2 elsewhere, 3 was added to wait as a row: it does so
-- from task.next on, and below that it is in the queue or with an owner.
-- step: twice the attempt, plus one when it has ended.
CREATE TABLE new_event (
  task        INTEGER NOT NULL REFERENCES task ON DELETE CASCADE,
  idx         INTEGER NOT NULL,
  status      INTEGER NOT NULL CHECK (status BETWEEN 0 AND 5),
  place       INTEGER NOT NULL CHECK (place BETWEEN 0 AND 3),
  run         INTEGER NOT NULL,
  step        INTEGER NOT NULL,
  number      INTEGER,
  job         TEXT,
  code        TEXT,
  started_at  INTEGER,
  finished_at INTEGER,
  args        TEXT,
  source      TEXT,
  result      TEXT,
  PRIMARY KEY (task, idx)
) STRICT, WITHOUT ROWID;
INSERT INTO new_event (task, idx, status, place, run, step, number, code, started_at, finished_at, args, source, result)
SELECT task, idx, status,
  CASE WHEN place = 1 AND status = 0 AND idx >= (SELECT next FROM task WHERE key = event.task) THEN 3 ELSE place END,
  run, step, number, code, started_at, finished_at, args, source, result
FROM event;
DROP TABLE event;
ALTER TABLE new_event RENAME TO event;
-- A page of the rejected rows of a large task; of those with a code.
CREATE INDEX rejected_event ON event (task, status, idx) WHERE status >= 3;
CREATE INDEX coded_event ON event (task, code, idx) WHERE status >= 3 AND code IS NOT NULL;

-- How many rejected rows there are of each code ('': none).
CREATE TABLE reason (
  task   INTEGER NOT NULL REFERENCES task ON DELETE CASCADE,
  status INTEGER NOT NULL,
  code   TEXT NOT NULL,
  count  INTEGER NOT NULL,
  PRIMARY KEY (task, status, code)
) STRICT, WITHOUT ROWID;
INSERT INTO reason SELECT task, status, coalesce(code, ''), count(*) FROM event WHERE status >= 3 GROUP BY 1, 2, 3;

-- Rows that wait with a place of their own; the lowest goes next. Below zero: they came back from elsewhere while the
-- window was full, with their text, and go before the rows never issued. Above: they were put back for another run, and go
-- behind the rows never issued whose index is below place >> 20; their text is made of the event.
CREATE TABLE new_backlog (
  task  INTEGER NOT NULL REFERENCES task ON DELETE CASCADE,
  place INTEGER NOT NULL,
  idx   INTEGER NOT NULL,
  text  TEXT,
  PRIMARY KEY (task, place)
) STRICT, WITHOUT ROWID;
INSERT INTO new_backlog SELECT task, place, idx, text FROM backlog;
DROP TABLE backlog;
ALTER TABLE new_backlog RENAME TO backlog;
CREATE UNIQUE INDEX backlog_by_row ON backlog (task, idx);

-- What a task makes.
CREATE TABLE part (
  task  INTEGER NOT NULL REFERENCES task ON DELETE CASCADE,
  idx   INTEGER NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY (task, idx)
) STRICT;

-- Values kept for a while; `ends` is in milliseconds since the epoch.
CREATE TABLE memory (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  ends  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_by_end ON memory (ends);
