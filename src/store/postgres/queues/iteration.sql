-- find: returns the states of iterations, and when they were cancelled; of one that was cancelled before its first attempt, only
-- when.
SELECT n.jid, coalesce(executions, 0) AS executions, coalesce(runtime, 0) AS runtime, cursor,
  c.version - c.version % 1000 AS cancelled
FROM unnest($1::text[]) AS n(jid)
LEFT JOIN hk.iteration AS i ON i.jid = n.jid
LEFT JOIN hk.cancellation AS c ON c.jid = n.jid AND c.version > 0
WHERE i.jid IS NOT NULL OR c.jid IS NOT NULL;

-- save: stores the state of an iteration, and deletes some states before $6 of others, which never ended. It waits for no other
-- caller that deletes them. No row: a later execution has saved its state.
WITH old AS (
  DELETE FROM hk.iteration WHERE jid IN (
    SELECT jid FROM hk.iteration WHERE created_at < $6 AND jid <> $1 ORDER BY created_at LIMIT 100 FOR UPDATE SKIP LOCKED
  )
)
INSERT INTO hk.iteration AS i (jid, executions, runtime, cursor, created_at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (jid) DO UPDATE SET executions = excluded.executions, runtime = excluded.runtime, cursor = excluded.cursor
  WHERE i.executions <= excluded.executions
RETURNING jid;

-- delete: deletes the states of iterations.
DELETE FROM hk.iteration WHERE jid = ANY($1::text[]);
