-- find: what is known of one; of a job that was cancelled before it ever ran, only when.
SELECT coalesce(executions, 0) AS executions, coalesce(runtime, 0.0) AS runtime, cursor,
  version - version % 1000 AS cancelled
FROM (SELECT ? AS jid) LEFT JOIN iteration USING (jid) LEFT JOIN (SELECT * FROM mark WHERE version > 0) USING (jid)
WHERE executions IS NOT NULL OR version IS NOT NULL;

-- save: keeps how far one has come; no row when a later execution has saved.
INSERT INTO iteration (jid, executions, runtime, cursor, created_at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (jid) DO UPDATE SET
  executions = excluded.executions, runtime = excluded.runtime, cursor = excluded.cursor
  WHERE iteration.executions <= excluded.executions
RETURNING jid;

-- drop: it has ended.
DELETE FROM iteration WHERE jid = ?;

-- forgetOld: drops those that nobody ended.
DELETE FROM iteration WHERE created_at < ?;
