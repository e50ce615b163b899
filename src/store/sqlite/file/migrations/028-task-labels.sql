-- The labels by which tasks are found.
CREATE TABLE task_label (
  name       TEXT NOT NULL,
  value      TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  id         TEXT NOT NULL,
  task       INTEGER NOT NULL REFERENCES task ON DELETE CASCADE,
  PRIMARY KEY (name, value, created_at, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX task_label_by_task ON task_label (task);
