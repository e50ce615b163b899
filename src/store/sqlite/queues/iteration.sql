-- find: returns the state of an iteration; of one that was cancelled before its first attempt, only when.
SELECT coalesce(executions, 0) AS executions, coalesce(runtime, 0.0) AS runtime, cursor,
  version - version % 1000 AS cancelled
FROM (SELECT ? AS jid) LEFT JOIN hk_iteration USING (jid) LEFT JOIN (SELECT * FROM hk_cancellation WHERE version > 0) USING (jid)
WHERE executions IS NOT NULL OR version IS NOT NULL;

-- save: stores the state of an iteration. No row: a later execution has saved its state.
INSERT INTO hk_iteration (jid, executions, runtime, cursor, created_at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (jid) DO UPDATE SET
  executions = excluded.executions, runtime = excluded.runtime, cursor = excluded.cursor
  WHERE hk_iteration.executions <= excluded.executions
RETURNING jid;

-- delete: deletes the state of an iteration.
DELETE FROM hk_iteration WHERE jid = ?;

-- deleteOld: deletes the states of iterations that never ended.
DELETE FROM hk_iteration WHERE created_at < ?;
