-- Tasks that go to another store, or come from one.
ALTER TABLE hk_task ADD COLUMN moving INTEGER NOT NULL DEFAULT 0 CHECK (moving BETWEEN 0 AND 2);

CREATE TABLE hk_moving_task (
  id       TEXT PRIMARY KEY,
  transfer TEXT,
  target   TEXT,
  cursor   TEXT
) STRICT, WITHOUT ROWID;
