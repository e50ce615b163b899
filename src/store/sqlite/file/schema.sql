-- The schema of a new file. A change comes here and, for files that exist, into a new file of migrations/.
-- Rows are deleted rather than flagged, and each index serves one question. Times are in milliseconds; `ends` is on the
-- monotonic clock of `boot` where that column stands beside it, and else in milliseconds since the epoch.
-- `queue` is an id in hk_ready, hk_fetched and hk_ordered_… (of its table hk_queue or hk_ordered_queue), and else a name.
-- The file may be the user's own database: each name begins with hk_, and user_version and application_id are the user's.

-- The version of this schema: one row. No later version may rename it.
CREATE TABLE hk_schema (version INTEGER NOT NULL) STRICT;
INSERT INTO hk_schema VALUES (0);

CREATE TABLE hk_queue (
  id      INTEGER PRIMARY KEY,
  name    TEXT NOT NULL UNIQUE,
  -- The positions used at either end. They only move outwards, so a position (and with it a ticket) is never used twice.
  head    INTEGER NOT NULL DEFAULT 0,
  tail    INTEGER NOT NULL DEFAULT 0,
  size    INTEGER NOT NULL DEFAULT 0,
  -- 1: hidden until it gets a job again. The row stays, because of its positions.
  cleared INTEGER NOT NULL DEFAULT 0,
  -- The number of its jobs that wait for room in their limits.
  limited INTEGER NOT NULL DEFAULT 0
) STRICT;

-- The positions used at either end for the jobs with one priority. Those of priority n begin at -n * 2^48, so jobs with a
-- higher priority have lower positions. hk_queue has those of priority 0.
CREATE TABLE hk_queue_priority (
  queue    INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  head     INTEGER NOT NULL,
  tail     INTEGER NOT NULL,
  PRIMARY KEY (queue, priority)
) STRICT, WITHOUT ROWID;

-- Jobs in their queues; the lowest position is fetched next.
CREATE TABLE hk_ready (
  queue    INTEGER NOT NULL,
  position INTEGER NOT NULL,
  text     TEXT NOT NULL,
  PRIMARY KEY (queue, position)
) STRICT, WITHOUT ROWID;

-- Queues from which no worker fetches.
CREATE TABLE hk_paused (queue TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;

-- The leases of workers.
CREATE TABLE hk_owner (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  name    TEXT NOT NULL UNIQUE,
  host    TEXT NOT NULL,
  boot    TEXT NOT NULL,
  ends    INTEGER NOT NULL,
  seconds REAL NOT NULL,
  claimed INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Fetched jobs. (queue, position) is the ticket.
CREATE TABLE hk_fetched (
  owner    INTEGER NOT NULL,
  queue    INTEGER NOT NULL,
  position INTEGER NOT NULL,
  text     TEXT NOT NULL,
  PRIMARY KEY (owner, queue, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE hk_job_set (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  size INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO hk_job_set (id, name) VALUES (1, 'retry'), (2, 'schedule'), (3, 'dead'), (-1, 'finished');

CREATE TABLE hk_entry (
  "set" INTEGER NOT NULL,
  score REAL NOT NULL,
  text  TEXT NOT NULL,
  PRIMARY KEY ("set", score, text)
) STRICT, WITHOUT ROWID;

-- Finds finished jobs by the text behind "jid", at most 100 characters; it is empty for a text that has "jid" several times.
CREATE INDEX hk_finished_by_jid ON hk_entry (
  CASE WHEN instr(substr(text, instr(text, '"jid"') + 5), '"jid"') > 0 THEN '' ELSE substr(
    ltrim(substr(text, instr(text, '"jid"') + 5), ': ' || char(9, 10, 13)),
    2,
    min(instr(substr(ltrim(substr(text, instr(text, '"jid"') + 5), ': ' || char(9, 10, 13)), 2), '"') - 1, 100)
  ) END
) WHERE "set" = -1;

-- Finished jobs that nobody has read, those of a step in a row; see queues/finished-packs.ts. Their set does not count them. runs: a
-- JSON array of FinishedRun. texts: the texts without the members of their runs, separated by U+001E.
CREATE TABLE hk_finished_pack (
  id     INTEGER PRIMARY KEY,
  size   INTEGER NOT NULL,
  oldest REAL NOT NULL,
  newest REAL NOT NULL,
  runs   TEXT NOT NULL,
  texts  TEXT NOT NULL
) STRICT;

-- Limits with used slots or waiting jobs. spec: the limit as JSON. next_check: when the waiting jobs may have room, in microseconds on
-- the clock of leases; NULL: no job waits.
CREATE TABLE hk_job_limit (
  name TEXT PRIMARY KEY,
  spec TEXT NOT NULL,
  next_check INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX hk_job_limit_by_check ON hk_job_limit (next_check) WHERE next_check IS NOT NULL;

-- The numbers of limits that were set from outside, as JSON.
CREATE TABLE hk_set_limit (
  name    TEXT PRIMARY KEY,
  numbers TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The used slots of limits. holder: the name of the owner, a space, and the ticket of the attempt.
CREATE TABLE hk_job_slot (
  job_limit TEXT NOT NULL,
  holder    TEXT NOT NULL,
  owner     INTEGER NOT NULL,
  PRIMARY KEY (job_limit, holder)
) STRICT, WITHOUT ROWID;

-- The starts that limits with a rate gave out (see contract/rates.ts). After `until` a row has no use.
CREATE TABLE hk_job_rate (
  name  TEXT PRIMARY KEY,
  state TEXT NOT NULL,
  until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX hk_job_rate_by_end ON hk_job_rate (until);

-- Cancellations of jobs. The version of a job that was found and dropped is negative, the time of the drop, and odd if the job was running.
CREATE TABLE hk_cancellation (
  jid     TEXT PRIMARY KEY,
  version INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX hk_cancellation_by_version ON hk_cancellation (version);
CREATE TABLE hk_newest_cancellation (version INTEGER NOT NULL) STRICT;
INSERT INTO hk_newest_cancellation (version) VALUES (0);

-- The jids of idempotent pushes, and when they were stored.
CREATE TABLE hk_pushed_once (
  jid TEXT PRIMARY KEY,
  at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX hk_pushed_once_by_time ON hk_pushed_once (at);

-- The locks of unique jobs: the jid of the job that has it. A lock without `ends` is held until its job releases it; with
-- outlives = 1 it is held until `ends`. suspicion: the last walk that did not find the job. due: the score with which the
-- job was scheduled.
CREATE TABLE hk_unique_lock (
  key       TEXT PRIMARY KEY,
  holder    TEXT NOT NULL,
  ends      INTEGER,
  outlives  INTEGER NOT NULL DEFAULT 0 CHECK (outlives IN (0, 1)),
  suspicion TEXT,
  due       REAL
) STRICT, WITHOUT ROWID;
CREATE INDEX hk_unique_lock_by_end ON hk_unique_lock (ends) WHERE ends IS NOT NULL;

CREATE TABLE hk_result (
  jid  TEXT PRIMARY KEY,
  text TEXT NOT NULL,
  ends INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX hk_result_by_end ON hk_result (ends);

-- The position of an iterable job among its items.
CREATE TABLE hk_iteration (
  jid        TEXT PRIMARY KEY,
  executions INTEGER NOT NULL,
  runtime    REAL NOT NULL,
  cursor     TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX hk_iteration_by_age ON hk_iteration (created_at);

CREATE TABLE hk_process (
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

-- The running jobs of a process as it showed them last.
CREATE TABLE hk_running (
  identity   TEXT NOT NULL,
  slot       TEXT NOT NULL,
  queue      TEXT NOT NULL,
  text       TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  -- JSON; NULL when the handler has reported no progress.
  progress   TEXT,
  PRIMARY KEY (identity, slot)
) STRICT, WITHOUT ROWID;

CREATE TABLE hk_signal (
  id       INTEGER PRIMARY KEY,
  identity TEXT NOT NULL,
  name     TEXT NOT NULL CHECK (name IN ('TSTP', 'TERM', 'TTIN') OR name GLOB 'CONCURRENCY [1-9]* ?*')
) STRICT;
CREATE INDEX hk_signal_of_process ON hk_signal (identity, id);

CREATE TABLE hk_leader_lock (
  name   TEXT PRIMARY KEY,
  holder TEXT NOT NULL,
  boot   TEXT NOT NULL,
  ends   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Locks that jobs hold.
CREATE TABLE hk_lock (
  name   TEXT PRIMARY KEY,
  holder TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Cron entries. `tick`: the last due time that was handled. `ends`: when no living process defines the entry any more.
CREATE TABLE hk_cron (
  name      TEXT PRIMARY KEY,
  text      TEXT NOT NULL,
  tick      INTEGER NOT NULL,
  paused    INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
  jid       TEXT,
  pushed_at INTEGER,
  boot      TEXT NOT NULL,
  ends      INTEGER NOT NULL,
  runs      TEXT NOT NULL DEFAULT '[]'
) STRICT, WITHOUT ROWID;

-- One row a UTC day, and the totals under the day ''.
CREATE TABLE hk_stat (
  day       TEXT PRIMARY KEY,
  processed INTEGER NOT NULL DEFAULT 0,
  failed    INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
INSERT INTO hk_stat (day) VALUES ('');

-- The runs of a class in a span of 1 or 10 minutes, which begins `at`.
CREATE TABLE hk_metric (
  span      INTEGER NOT NULL CHECK (span IN (1, 10)),
  at        INTEGER NOT NULL,
  name      TEXT NOT NULL,
  processed INTEGER NOT NULL,
  failed    INTEGER NOT NULL,
  ms        INTEGER NOT NULL,
  PRIMARY KEY (span, at, name)
) STRICT, WITHOUT ROWID;

-- The number of runs of a class in each bucket of run times, by minute and by ten minutes.
CREATE TABLE hk_histogram (
  span   INTEGER NOT NULL CHECK (span IN (1, 10)),
  at     INTEGER NOT NULL,
  name   TEXT NOT NULL,
  bucket INTEGER NOT NULL,
  count  INTEGER NOT NULL,
  PRIMARY KEY (span, at, name, bucket)
) STRICT, WITHOUT ROWID;

-- How long jobs of a queue had waited when they started in a minute: the sum in ms, and a JSON array of bucket counts.
CREATE TABLE hk_wait_time (
  at        INTEGER NOT NULL,
  queue     TEXT NOT NULL,
  ms        INTEGER NOT NULL,
  histogram TEXT NOT NULL,
  PRIMARY KEY (at, queue)
) STRICT, WITHOUT ROWID;

-- The last batch of metrics of each process, so that a batch counts once.
CREATE TABLE hk_metric_source (
  source TEXT PRIMARY KEY,
  number INTEGER NOT NULL,
  at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The figures of the whole store in the first moment of a minute, of ten minutes or of a day that had one.
CREATE TABLE hk_snapshot (
  span INTEGER NOT NULL CHECK (span IN (1, 10, 1440)),
  at   INTEGER NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (span, at)
) STRICT, WITHOUT ROWID;

-- The sizes of queues in a minute or in ten minutes; a row may be long.
CREATE TABLE hk_queue_sizes (
  span INTEGER NOT NULL CHECK (span IN (1, 10)),
  at   INTEGER NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (span, at)
) STRICT;

-- `at`: the minute of the deploy.
CREATE TABLE hk_deploy (
  at          INTEGER PRIMARY KEY,
  label       TEXT NOT NULL,
  recorded_at INTEGER NOT NULL
) STRICT;

-- Values kept for a while.
CREATE TABLE hk_memory (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  ends  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX hk_memory_by_end ON hk_memory (ends);

-- Secrets that all processes share, such as the one that signs links.
CREATE TABLE hk_secret (
  name TEXT PRIMARY KEY,
  text TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Lists of tasks by their meta whose links were revoked. A link names the version, and opens its list only with this one.
CREATE TABLE hk_link_version (
  list    TEXT PRIMARY KEY,
  version INTEGER NOT NULL CHECK (version > 0)
) STRICT, WITHOUT ROWID;

-- The page of jobs that the file holds for another store; at most one row. jobs: where each was, as JSON; NULL: the page has ended.
CREATE TABLE hk_transfer_page (
  id       INTEGER PRIMARY KEY CHECK (id = 1),
  transfer TEXT NOT NULL,
  number   INTEGER NOT NULL,
  target   TEXT NOT NULL,
  jobs     TEXT
) STRICT;

-- The newest pages of jobs from other stores.
CREATE TABLE hk_stored_page (
  id       INTEGER PRIMARY KEY,
  transfer TEXT NOT NULL,
  number   INTEGER NOT NULL,
  outcome  TEXT NOT NULL CHECK (outcome IN ('stored', 'void')),
  UNIQUE (transfer, number)
) STRICT;

-- Batches. parent: the batch of which this one, or its job, is a member. depth: the number of batches around it, and it. on_…:
-- jobs that it pushes, as JSON; null: it has none, or has pushed it. job: the job that waits for the members. expires_at: when
-- it is deleted; null: a member is open. cancelling: whether it was cancelled and has pending members.
CREATE TABLE hk_batch (
  bid          TEXT PRIMARY KEY,
  parent       TEXT,
  depth        INTEGER NOT NULL DEFAULT 1,
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
  cancelling   INTEGER NOT NULL DEFAULT 0,
  CHECK (pending + dead + failed + succeeded = total)
) STRICT, WITHOUT ROWID;
CREATE INDEX hk_batch_by_age ON hk_batch (created_at, bid);
CREATE INDEX hk_open_batch ON hk_batch (progress_at, bid) WHERE pending + dead > 0;
CREATE INDEX hk_expiring_batch ON hk_batch (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX hk_cancelling_batch ON hk_batch (progress_at) WHERE cancelling = 1;

-- The open members of batches: jobs and nested batches. state: 0 waiting, 1 retrying, 2 dead.
CREATE TABLE hk_batch_member (
  bid   TEXT NOT NULL,
  id    TEXT NOT NULL,
  state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 2),
  PRIMARY KEY (bid, id)
) STRICT, WITHOUT ROWID;

-- What a batch keeps about its ended members.
CREATE TABLE hk_batch_note (
  bid  TEXT NOT NULL,
  key  TEXT NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (bid, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE hk_task (
  key             INTEGER PRIMARY KEY,
  id              TEXT NOT NULL UNIQUE CHECK (length(id) = 16),
  name            TEXT NOT NULL,
  job             TEXT NOT NULL,
  queue           TEXT NOT NULL,
  template        TEXT NOT NULL,
  window          INTEGER NOT NULL CHECK (window > 0),
  -- NULL: each row is a job. Else so many rows are one job, which gets them as a list.
  rows_per_job    INTEGER CHECK (rows_per_job > 0),
  keep_args       TEXT NOT NULL CHECK (keep_args IN ('rejected', 'all', 'none')),
  max_failures    TEXT,
  on_max_failures TEXT NOT NULL DEFAULT 'pause' CHECK (on_max_failures IN ('pause', 'cancel')),
  on_done         TEXT,
  on_failure      TEXT,
  -- The last runs for which they were pushed.
  done_run        INTEGER NOT NULL DEFAULT 0,
  failed_run      INTEGER NOT NULL DEFAULT 0,
  keep            INTEGER NOT NULL DEFAULT 2592000000,
  expires_at      INTEGER,
  lost_after      INTEGER NOT NULL DEFAULT 3600000,
  meta            TEXT NOT NULL,
  -- 1: the task of a single tracked job, which lists do not show. due_at: when that job is due, if it was scheduled.
  single          INTEGER NOT NULL DEFAULT 0 CHECK (single IN (0, 1)),
  due_at          INTEGER,
  -- The producer (a process) that created the task or resumed its adding; how many add rows, and how many broke off.
  producer        TEXT NOT NULL,
  producers       INTEGER NOT NULL DEFAULT 0 CHECK (producers >= 0),
  broken          INTEGER NOT NULL DEFAULT 0 CHECK (broken >= 0),
  -- The last row that was added, for an import that is resumed.
  last_row        TEXT,
  state           TEXT NOT NULL
    CHECK (state IN ('adding', 'running', 'paused', 'interrupted', 'cancelling', 'done', 'cancelled')),
  paused          INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
  reason          TEXT,
  -- The run; when it began (NULL: with the task); how many rows had ended before it and do not belong to it.
  run             INTEGER NOT NULL DEFAULT 1,
  run_at          INTEGER,
  ended_before    INTEGER NOT NULL DEFAULT 0,
  total           INTEGER NOT NULL DEFAULT 0,
  -- The first index that was never queued.
  next            INTEGER NOT NULL DEFAULT 0,
  -- The number of rows that are not yet queued; the number of jobs in the queue or with an owner.
  backlog         INTEGER NOT NULL DEFAULT 0 CHECK (backlog >= 0),
  in_window       INTEGER NOT NULL DEFAULT 0 CHECK (in_window >= 0),
  enqueued        INTEGER NOT NULL DEFAULT 0 CHECK (enqueued >= 0),
  working         INTEGER NOT NULL DEFAULT 0 CHECK (working >= 0),
  finished        INTEGER NOT NULL DEFAULT 0 CHECK (finished >= 0),
  failed          INTEGER NOT NULL DEFAULT 0 CHECK (failed >= 0),
  error           INTEGER NOT NULL DEFAULT 0 CHECK (error >= 0),
  cancelled       INTEGER NOT NULL DEFAULT 0 CHECK (cancelled >= 0),
  -- 1: some rows have a class of their own.
  mixed           INTEGER NOT NULL DEFAULT 0 CHECK (mixed IN (0, 1)),
  -- The index from which cancelling continues.
  cancel_from     INTEGER NOT NULL DEFAULT 0,
  -- Bytes of its parts.
  bytes           INTEGER NOT NULL DEFAULT 0,
  -- 1: the task is invisible and is being deleted.
  deleting        INTEGER NOT NULL DEFAULT 0 CHECK (deleting IN (0, 1)),
  created_at      INTEGER NOT NULL,
  progress_at     INTEGER,
  finished_at     INTEGER,
  -- The number of parked rows.
  deferred        INTEGER NOT NULL DEFAULT 0,
  -- 1: the task goes to another store, and no row enters the queue. 2: it is sealed, or not complete yet; `deleting` hides it.
  moving          INTEGER NOT NULL DEFAULT 0 CHECK (moving BETWEEN 0 AND 2),
  -- How often its links were revoked.
  link_version    INTEGER NOT NULL DEFAULT 0,
  CHECK (enqueued + working + finished + failed + error + cancelled = total)
) STRICT;
CREATE INDEX hk_task_by_age ON hk_task (created_at, id) WHERE single = 0 AND deleting = 0;
CREATE INDEX hk_open_task ON hk_task (key) WHERE enqueued + working > 0 OR state = 'cancelling';
CREATE INDEX hk_cancelling_task ON hk_task (key) WHERE state = 'cancelling';
CREATE INDEX hk_expiring_task ON hk_task (expires_at) WHERE expires_at IS NOT NULL;

-- Tasks that go to another store: `transfer` and `target` once they are sealed. Tasks that come from one: `transfer`, and
-- `cursor` of the next part. A task may have been deleted meanwhile.
CREATE TABLE hk_moving_task (
  id       TEXT PRIMARY KEY,
  transfer TEXT,
  target   TEXT,
  cursor   TEXT
) STRICT, WITHOUT ROWID;

-- The labels by which tasks are found.
CREATE TABLE hk_task_label (
  name       TEXT NOT NULL,
  value      TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  id         TEXT NOT NULL,
  task       INTEGER NOT NULL REFERENCES hk_task ON DELETE CASCADE,
  PRIMARY KEY (name, value, created_at, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX hk_task_label_by_task ON hk_task_label (task);

-- cursor: the number of rows that the producer has added. state: 0 adds rows, 1 has ended, 2 broke off, 3 was replaced by
-- another producer, 4 is a row of the task. retry: it puts rows back, and its death does not interrupt the task.
CREATE TABLE hk_producer (
  task   INTEGER NOT NULL REFERENCES hk_task ON DELETE CASCADE,
  name   TEXT NOT NULL,
  cursor INTEGER NOT NULL DEFAULT 0,
  state  INTEGER NOT NULL DEFAULT 1 CHECK (state BETWEEN 0 AND 4),
  retry  INTEGER NOT NULL DEFAULT 0 CHECK (retry IN (0, 1)),
  PRIMARY KEY (task, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX hk_open_producer ON hk_producer (name) WHERE state = 0;

-- The rows of tasks. status: 0 enqueued, 1 working, 2 finished, 3 failed, 4 error, 5 cancelled.
-- location: 0 in the backlog, 1 in the window, 2 elsewhere, 3 never queued: from hk_task.next on, else in the window.
-- step: twice the attempt, plus one when it has ended.
CREATE TABLE hk_event (
  task        INTEGER NOT NULL REFERENCES hk_task ON DELETE CASCADE,
  idx         INTEGER NOT NULL,
  status      INTEGER NOT NULL CHECK (status BETWEEN 0 AND 5),
  location    INTEGER NOT NULL CHECK (location BETWEEN 0 AND 3),
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
-- A page of the rejected rows of a large task; of those with a code or without one.
CREATE INDEX hk_rejected_event ON hk_event (task, status, idx) WHERE status >= 3;
CREATE INDEX hk_coded_event ON hk_event (task, code, idx) WHERE status >= 3;

CREATE TABLE hk_message (
  task   INTEGER NOT NULL REFERENCES hk_task ON DELETE CASCADE,
  idx    INTEGER NOT NULL,
  n      INTEGER NOT NULL,
  at     INTEGER NOT NULL,
  code   TEXT NOT NULL,
  params TEXT NOT NULL,
  PRIMARY KEY (task, idx, n)
) STRICT, WITHOUT ROWID;

-- The newest deferred attempt of each row. state: 0 its handler runs or broke off, 1 the row is parked, 2 the row has ended.
-- ends: the deadline, if it is still to be checked.
CREATE TABLE hk_deferral (
  task    INTEGER NOT NULL REFERENCES hk_task ON DELETE CASCADE,
  idx     INTEGER NOT NULL,
  run     INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  state   INTEGER NOT NULL CHECK (state BETWEEN 0 AND 2),
  ends    INTEGER,
  PRIMARY KEY (task, idx)
) STRICT, WITHOUT ROWID;
CREATE INDEX hk_deferral_by_end ON hk_deferral (ends) WHERE ends IS NOT NULL;

-- The number of rejected rows of each code ('': none).
CREATE TABLE hk_reason (
  task   INTEGER NOT NULL REFERENCES hk_task ON DELETE CASCADE,
  status INTEGER NOT NULL,
  code   TEXT NOT NULL,
  count  INTEGER NOT NULL,
  PRIMARY KEY (task, status, code)
) STRICT, WITHOUT ROWID;

-- Rows that have a position of their own in the backlog; the lowest is queued next. Below zero: they came back while the
-- window was full, with their text, and go before the rows that were never queued. Above: they were put back for another
-- run, and go behind the rows never queued whose index is below position >> 20; their text is made of the event.
CREATE TABLE hk_backlog (
  task     INTEGER NOT NULL REFERENCES hk_task ON DELETE CASCADE,
  position INTEGER NOT NULL,
  idx      INTEGER NOT NULL,
  text     TEXT,
  PRIMARY KEY (task, position)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX hk_backlog_by_row ON hk_backlog (task, idx);

-- The pages of an export.
CREATE TABLE hk_part (
  task  INTEGER NOT NULL REFERENCES hk_task ON DELETE CASCADE,
  idx   INTEGER NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY (task, idx)
) STRICT;

-- version: grows with each change that waiting owners must see. reshard_after: the id behind which resharding continues.
CREATE TABLE hk_ordered_queue (
  id            INTEGER PRIMARY KEY,
  name          TEXT NOT NULL UNIQUE,
  shards        INTEGER NOT NULL CHECK (shards > 0),
  from_shards   INTEGER CHECK (from_shards > 0),
  reshard_after TEXT,
  paused        INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
  version       INTEGER NOT NULL DEFAULT 0,
  morgue        INTEGER NOT NULL DEFAULT 0 CHECK (morgue >= 0)
) STRICT;

-- The owners that may own shards.
CREATE TABLE hk_ordered_member (
  queue INTEGER NOT NULL,
  owner INTEGER NOT NULL REFERENCES hk_owner ON DELETE CASCADE,
  PRIMARY KEY (queue, owner)
) STRICT, WITHOUT ROWID;
CREATE INDEX hk_ordered_member_by_owner ON hk_ordered_member (owner);

-- owner: 0 for none. fetch_number: the number of the last fetch. alone: a suspect id is in flight. next_due: when the next
-- id is due, as the owner knows. A shard that is gone keeps its row, so that its token never goes back.
CREATE TABLE hk_ordered_shard (
  queue        INTEGER NOT NULL,
  shard        INTEGER NOT NULL,
  owner        INTEGER NOT NULL DEFAULT 0,
  token        INTEGER NOT NULL DEFAULT 0,
  busy         INTEGER NOT NULL DEFAULT 0 CHECK (busy >= 0),
  fresh        INTEGER NOT NULL DEFAULT 0 CHECK (fresh >= 0),
  retries      INTEGER NOT NULL DEFAULT 0 CHECK (retries >= 0),
  processed    INTEGER NOT NULL DEFAULT 0,
  failed       INTEGER NOT NULL DEFAULT 0,
  fetch_number INTEGER NOT NULL,
  alone        INTEGER NOT NULL DEFAULT 0 CHECK (alone IN (0, 1)),
  next_due     INTEGER,
  PRIMARY KEY (queue, shard)
) STRICT, WITHOUT ROWID;

-- The waiting payloads of an id. in_flight: 1 while the id is in flight as well, and must not be fetched. A single payload
-- may be here with its score; where `text` is NULL, `size` payloads are in hk_ordered_payload.
CREATE TABLE hk_ordered_waiting (
  queue       INTEGER NOT NULL,
  id          TEXT NOT NULL,
  shard       INTEGER NOT NULL,
  in_flight   INTEGER NOT NULL CHECK (in_flight IN (0, 1)),
  perform_in  REAL NOT NULL,
  retry_count INTEGER NOT NULL,
  crashes     INTEGER NOT NULL,
  suspect     INTEGER NOT NULL CHECK (suspect IN (0, 1)),
  size        INTEGER NOT NULL CHECK (size > 0),
  score       REAL,
  error       TEXT,
  text        TEXT,
  PRIMARY KEY (queue, id),
  CHECK ((score IS NULL) = (text IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX hk_ordered_due ON hk_ordered_waiting (queue, shard, perform_in, id) WHERE in_flight = 0;
-- A page of the ids that failed. (SQLite would take a plain comparison here for the beginning of the page.)
CREATE INDEX hk_ordered_retry ON hk_ordered_waiting (queue, retry_count, id) WHERE (retry_count < 0) = 0;

-- Ids that were fetched and are not settled. (shard, fetch_number, id) is the ticket. has_waiting: the id may have waiting
-- payloads. Where `score` is NULL, `text` is a JSON array of payloads and scores.
CREATE TABLE hk_ordered_in_flight (
  queue        INTEGER NOT NULL,
  id           TEXT NOT NULL,
  shard        INTEGER NOT NULL,
  fetch_number INTEGER NOT NULL,
  fetched_at   INTEGER NOT NULL,
  has_waiting  INTEGER NOT NULL DEFAULT 0 CHECK (has_waiting IN (0, 1)),
  cancelled    INTEGER NOT NULL DEFAULT 0 CHECK (cancelled IN (0, 1)),
  perform_in   REAL NOT NULL,
  retry_count  INTEGER NOT NULL,
  crashes      INTEGER NOT NULL,
  suspect      INTEGER NOT NULL,
  score        REAL,
  error        TEXT,
  text         TEXT NOT NULL,
  PRIMARY KEY (queue, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX hk_ordered_cancelled ON hk_ordered_in_flight (queue, shard, fetch_number) WHERE cancelled = 1;

-- The payloads of ids that have several, and (dead = 1) those in the morgue. An id has each text once.
CREATE TABLE hk_ordered_payload (
  queue INTEGER NOT NULL,
  id    TEXT NOT NULL,
  dead  INTEGER NOT NULL,
  score REAL NOT NULL,
  text  TEXT NOT NULL,
  PRIMARY KEY (queue, id, dead, score, text)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX hk_ordered_payload_by_text ON hk_ordered_payload (queue, id, dead, text);

CREATE TABLE hk_ordered_dead (
  queue      INTEGER NOT NULL,
  id         TEXT NOT NULL,
  updated_at REAL NOT NULL,
  deaths     INTEGER NOT NULL,
  error      TEXT,
  PRIMARY KEY (queue, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX hk_ordered_dead_by_age ON hk_ordered_dead (queue, updated_at, id);

-- The highest token or fetch number of ordered queues that were deleted: a new queue begins above it, also after the clock
-- was set back.
CREATE TABLE hk_ordered_highest (number INTEGER NOT NULL) STRICT;
INSERT INTO hk_ordered_highest VALUES (0);

-- The recording of events of jobs: one row. newest: the number of the newest event, which only grows. ends: 0 without a recording.
CREATE TABLE hk_recording (
  newest    INTEGER NOT NULL,
  ends      INTEGER NOT NULL,
  keep      INTEGER NOT NULL,
  confirmed INTEGER NOT NULL CHECK (confirmed IN (0, 1))
) STRICT;
INSERT INTO hk_recording VALUES (0, 0, 0, 0);

-- Recorded events, those of one step in a row. newest: the number of the last of them. texts: a JSON array of groups (packEvents).
CREATE TABLE hk_job_event (
  newest INTEGER PRIMARY KEY,
  at     INTEGER NOT NULL,
  texts  TEXT NOT NULL
) STRICT;
