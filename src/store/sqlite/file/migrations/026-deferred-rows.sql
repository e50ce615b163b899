-- Rows that are ended from outside.
ALTER TABLE task ADD COLUMN deferred INTEGER NOT NULL DEFAULT 0;
CREATE TABLE deferral (
  task    INTEGER NOT NULL REFERENCES task ON DELETE CASCADE,
  idx     INTEGER NOT NULL,
  run     INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  state   INTEGER NOT NULL CHECK (state BETWEEN 0 AND 2),
  ends    INTEGER,
  PRIMARY KEY (task, idx)
) STRICT, WITHOUT ROWID;
CREATE INDEX deferral_by_end ON deferral (ends) WHERE ends IS NOT NULL;
