-- find: what is known of one.
SELECT executions, runtime, cursor, cancelled FROM iteration WHERE jid = ?;

-- save: keeps how far one has come; no row when a later execution has saved.
INSERT INTO iteration (jid, executions, runtime, cursor, created_at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (jid) DO UPDATE SET
  executions = excluded.executions, runtime = excluded.runtime, cursor = excluded.cursor
  WHERE iteration.executions <= excluded.executions
RETURNING cancelled;

-- cancel: asks one to end; no row when it was asked before.
INSERT INTO iteration (jid, cancelled, created_at) VALUES (?1, ?2, ?3)
ON CONFLICT (jid) DO UPDATE SET cancelled = excluded.cancelled WHERE iteration.cancelled IS NULL
RETURNING jid;

-- drop: it has ended.
DELETE FROM iteration WHERE jid = ?;

-- forgetOld: drops those that nobody ended.
DELETE FROM iteration WHERE created_at < ?;
