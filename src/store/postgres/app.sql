-- describe: see hk.app_transaction.
SELECT hk.app_transaction($1) AS answer;

-- push: see hk.app_push.
SELECT hk.app_push($1, $2, $3, $4, $5, $6) AS answer;

-- lock: see hk.app_lock.
SELECT hk.app_lock($1, $2) AS answer;

-- run: see hk.app_run.
SELECT hk.app_run($1, $2, $3) AS answer;

-- notify: wakes workers at the commit.
SELECT pg_catalog.pg_notify($1, $2)::text AS answer;

-- savepoint: begins what can be undone in the transaction of the app.
SAVEPOINT highkiq;

-- release: ends it.
RELEASE SAVEPOINT highkiq;

-- undo: undoes it.
ROLLBACK TO SAVEPOINT highkiq;

-- show: creates queues that do not exist, lists those again that are hidden, and returns their ids. It waits for no transaction of
-- the app: one that has changed a hidden queue lists it. A queue that another process creates meanwhile may be missing.
WITH shown AS (
  UPDATE hk.queue SET cleared = 0
  WHERE id IN (SELECT id FROM hk.queue WHERE name = ANY($1::text[]) AND cleared = 1 FOR UPDATE SKIP LOCKED)
), created AS (
  INSERT INTO hk.queue (name) SELECT name FROM unnest($1::text[]) AS names (name) ON CONFLICT DO NOTHING RETURNING name, id
)
SELECT name, id FROM created UNION ALL SELECT name, id FROM hk.queue WHERE name = ANY($1::text[]);
