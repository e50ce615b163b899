-- Signals that have an argument; see schema.sql. A signal is read within seconds, so those of before are not kept.
DROP TABLE signal;
CREATE TABLE signal (
  id       INTEGER PRIMARY KEY,
  identity TEXT NOT NULL,
  name     TEXT NOT NULL CHECK (name IN ('TSTP', 'TERM', 'TTIN') OR name GLOB 'CONCURRENCY [1-9]* ?*')
) STRICT;
CREATE INDEX signal_of_process ON signal (identity, id);
