-- Ordered queues. `news` grows when who waits should look. `swept`: up to where resharding has come, by the id.
CREATE TABLE ordered_queue (
  id          INTEGER PRIMARY KEY,
  name        TEXT NOT NULL UNIQUE,
  shards      INTEGER NOT NULL CHECK (shards > 0),
  from_shards INTEGER CHECK (from_shards > 0),
  swept       TEXT,
  paused      INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
  news        INTEGER NOT NULL DEFAULT 0,
  morgue      INTEGER NOT NULL DEFAULT 0 CHECK (morgue >= 0)
) STRICT;

-- Who may own shards.
CREATE TABLE ordered_member (
  queue INTEGER NOT NULL,
  owner INTEGER NOT NULL REFERENCES owner ON DELETE CASCADE,
  PRIMARY KEY (queue, owner)
) STRICT, WITHOUT ROWID;
CREATE INDEX ordered_member_by_owner ON ordered_member (owner);

-- owner: 0 is nobody. take: the number of the last take. alone: a suspect is in flight. known: when (ms) the owner
-- knows something to be due next; what is due before that is news. A shard that is gone keeps its row: its token never goes back.
CREATE TABLE ordered_shard (
  queue     INTEGER NOT NULL,
  shard     INTEGER NOT NULL,
  owner     INTEGER NOT NULL DEFAULT 0,
  token     INTEGER NOT NULL DEFAULT 0,
  busy      INTEGER NOT NULL DEFAULT 0 CHECK (busy >= 0),
  fresh     INTEGER NOT NULL DEFAULT 0 CHECK (fresh >= 0),
  retries   INTEGER NOT NULL DEFAULT 0 CHECK (retries >= 0),
  processed INTEGER NOT NULL DEFAULT 0,
  failed    INTEGER NOT NULL DEFAULT 0,
  take      INTEGER NOT NULL,
  alone     INTEGER NOT NULL DEFAULT 0 CHECK (alone IN (0, 1)),
  known     INTEGER,
  PRIMARY KEY (queue, shard)
) STRICT, WITHOUT ROWID;

-- What waits of an id. held: the id is in flight as well, and nobody takes it. A single payload may stand here with its
-- score; where `text` is missing there are `size` of them in ordered_payload.
CREATE TABLE ordered_waiting (
  queue       INTEGER NOT NULL,
  id          TEXT NOT NULL,
  shard       INTEGER NOT NULL,
  held        INTEGER NOT NULL CHECK (held IN (0, 1)),
  perform_in  REAL NOT NULL,
  retry_count INTEGER NOT NULL,
  stalls      INTEGER NOT NULL,
  suspect     INTEGER NOT NULL CHECK (suspect IN (0, 1)),
  size        INTEGER NOT NULL CHECK (size > 0),
  score       REAL,
  error       TEXT,
  text        TEXT,
  PRIMARY KEY (queue, id),
  CHECK ((score IS NULL) = (text IS NULL))
) STRICT, WITHOUT ROWID;
-- What is due next of a shard.
CREATE INDEX ordered_due ON ordered_waiting (queue, shard, perform_in, id) WHERE held = 0;
-- A page of those that failed. (A plain comparison here would be taken for where a page begins.)
CREATE INDEX ordered_retry ON ordered_waiting (queue, retry_count, id) WHERE (retry_count < 0) = 0;

-- What was taken of an id and is not settled. (shard, take, id) is its ticket. Where `score` is missing, `text` is a JSON
-- array of payloads and scores.
CREATE TABLE ordered_flight (
  queue       INTEGER NOT NULL,
  id          TEXT NOT NULL,
  shard       INTEGER NOT NULL,
  take        INTEGER NOT NULL,
  taken_at    INTEGER NOT NULL,
  -- Something may wait of it.
  more        INTEGER NOT NULL DEFAULT 0 CHECK (more IN (0, 1)),
  cancelled   INTEGER NOT NULL DEFAULT 0 CHECK (cancelled IN (0, 1)),
  perform_in  REAL NOT NULL,
  retry_count INTEGER NOT NULL,
  stalls      INTEGER NOT NULL,
  suspect     INTEGER NOT NULL,
  score       REAL,
  error       TEXT,
  text        TEXT NOT NULL,
  PRIMARY KEY (queue, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX ordered_cancelled ON ordered_flight (queue, shard, take) WHERE cancelled = 1;

-- Payloads of ids that have several, and (dead = 1) of those in the morgue.
CREATE TABLE ordered_payload (
  queue INTEGER NOT NULL,
  id    TEXT NOT NULL,
  dead  INTEGER NOT NULL,
  score REAL NOT NULL,
  text  TEXT NOT NULL,
  PRIMARY KEY (queue, id, dead, score, text)
) STRICT, WITHOUT ROWID;
-- Each of an id is there once.
CREATE UNIQUE INDEX ordered_payload_by_text ON ordered_payload (queue, id, dead, text);

CREATE TABLE ordered_dead (
  queue      INTEGER NOT NULL,
  id         TEXT NOT NULL,
  updated_at REAL NOT NULL,
  deaths     INTEGER NOT NULL,
  error      TEXT,
  PRIMARY KEY (queue, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX ordered_dead_by_age ON ordered_dead (queue, updated_at, id);
