-- How long jobs of a queue had waited when they started in a minute: the sum in ms, and a JSON array of bucket counts.
CREATE TABLE wait_time (
  at        INTEGER NOT NULL,
  queue     TEXT NOT NULL,
  ms        INTEGER NOT NULL,
  histogram TEXT NOT NULL,
  PRIMARY KEY (at, queue)
) STRICT, WITHOUT ROWID;
