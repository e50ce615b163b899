-- Queues that nobody takes from.
CREATE TABLE paused (queue TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;

-- Jobs that must not run (any more). version: about the time, in ms; minus the time once the job was found and dropped.
CREATE TABLE mark (
  jid     TEXT PRIMARY KEY,
  version INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX mark_by_version ON mark (version);

-- The newest version that a mark ever had.
CREATE TABLE newest_mark (version INTEGER NOT NULL) STRICT;
INSERT INTO newest_mark (version) VALUES (0);
