-- Limits get rates, and the time at which their waiting jobs may have room. Limits that jobs wait for are checked at once.
ALTER TABLE job_limit RENAME TO old_limit;
CREATE TABLE job_limit (
  name TEXT PRIMARY KEY,
  spec TEXT NOT NULL,
  next_check INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX job_limit_by_check ON job_limit (next_check) WHERE next_check IS NOT NULL;
INSERT INTO job_limit (name, spec, next_check)
SELECT name, json_object('name', name, 'max', max, 'count', 0, 'per', 0, 'burst', 0, 'window', 'smooth'), 0 FROM old_limit;
DROP TABLE old_limit;

-- The starts that limits with a rate gave out.
CREATE TABLE job_rate (
  name  TEXT PRIMARY KEY,
  state TEXT NOT NULL,
  until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX job_rate_by_end ON job_rate (until);
