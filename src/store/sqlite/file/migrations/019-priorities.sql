-- Positions of a queue's priorities.
CREATE TABLE queue_priority (
  queue    INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  head     INTEGER NOT NULL,
  tail     INTEGER NOT NULL,
  PRIMARY KEY (queue, priority)
) STRICT, WITHOUT ROWID;
