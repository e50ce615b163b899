-- The recording of events of jobs: one row. newest: the number of the newest event, which only grows. ends: 0 without a recording.
CREATE TABLE recording (
  newest    INTEGER NOT NULL,
  ends      INTEGER NOT NULL,
  keep      INTEGER NOT NULL,
  confirmed INTEGER NOT NULL CHECK (confirmed IN (0, 1))
) STRICT;
INSERT INTO recording VALUES (0, 0, 0, 0);

-- Recorded events, those of one step in a row. newest: the number of the last of them. texts: a JSON array.
CREATE TABLE job_event (
  newest INTEGER PRIMARY KEY,
  at     INTEGER NOT NULL,
  texts  TEXT NOT NULL
) STRICT;
