-- What a process last said that it works on.
CREATE TABLE running (
  identity   TEXT NOT NULL,
  slot       TEXT NOT NULL,
  queue      TEXT NOT NULL,
  text       TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  -- JSON, when its handler has said how far it has come.
  progress   TEXT,
  PRIMARY KEY (identity, slot)
) STRICT, WITHOUT ROWID;

-- A queue that was cleared is shown again when it gets a job; its row stays, for its places are never used twice.
ALTER TABLE queue ADD COLUMN cleared INTEGER NOT NULL DEFAULT 0;
