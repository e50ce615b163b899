-- Limits that are in use, with the number of their slots.
CREATE TABLE job_limit (
  name TEXT PRIMARY KEY,
  max  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The used slots of limits. holder: the name of the owner, a space, and the ticket of the attempt.
CREATE TABLE job_slot (
  job_limit TEXT NOT NULL,
  holder    TEXT NOT NULL,
  owner     INTEGER NOT NULL,
  PRIMARY KEY (job_limit, holder)
) STRICT, WITHOUT ROWID;
