-- deleteOld: deletes cancellations that are kept longer than $3, and those of dropped jobs that are kept longer than $4 (ms). $1: the
-- time. $2: what the clock of this machine says. Returns the time, without the milliseconds by which that clock is ahead of the server's.
WITH clock AS (SELECT $1::bigint - greatest($2::bigint - hk.micros() / 1000, 0) AS now), deleted AS (
  DELETE FROM hk.cancellation
  WHERE version BETWEEN 1 AND (SELECT now FROM clock) - $3::bigint OR version BETWEEN $4::bigint - (SELECT now FROM clock) AND -1
) SELECT now FROM clock;

-- prune: keeps only the newest $1 cancellations.
DELETE FROM hk.cancellation WHERE jid IN (SELECT jid FROM hk.cancellation ORDER BY version DESC OFFSET $1);

-- withdraw: withdraws one of the requests with version $2, or with NULL all of them, unless the job was dropped. $3: MOST_CANCELLERS.
-- Returns the score that the job had.
WITH removed AS (
  DELETE FROM hk.cancellation WHERE jid = $1 AND version > 0 AND ($2::bigint IS NULL OR version = $2)
), lowered AS (
  UPDATE hk.cancellation SET version = version - 1
  WHERE jid = $1 AND version > 0 AND version - version % $3::bigint = $2 AND version % $3 BETWEEN 1 AND $3 - 2
)
SELECT version AS score FROM hk.cancellation WHERE jid = $1;

-- raise: changes the newest version without a cancellation, to a multiple of $1.
UPDATE hk.newest_cancellation SET version = (version / $1::bigint + 1) * $1;

-- cancel: cancels jobs, each named once, at a time, or counts one more request for those that are cancelled. $3: MOST_CANCELLERS.
-- Returns the versions.
WITH wanted AS (
  SELECT jid, i FROM unnest($1::text[]) WITH ORDINALITY AS w(jid, i)
), again AS (
  UPDATE hk.cancellation AS c SET version = c.version + CASE WHEN c.version % $3::bigint < $3 - 1 THEN 1 ELSE 0 END FROM wanted
  WHERE c.jid = wanted.jid AND c.version > 0 RETURNING c.jid, c.version - c.version % $3 AS version
), fresh AS (
  SELECT jid, row_number() OVER (ORDER BY i) AS n FROM wanted
  WHERE NOT EXISTS (SELECT 1 FROM hk.cancellation AS c WHERE c.jid = wanted.jid AND c.version > 0)
), counted AS (
  SELECT count(*) AS n FROM fresh
), newest AS (
  UPDATE hk.newest_cancellation SET version = ((greatest(version + 1, $2) + $3 - 1) / $3 + counted.n - 1) * $3
  FROM counted WHERE counted.n > 0 RETURNING version, counted.n
), cancelled AS (
  INSERT INTO hk.cancellation (jid, version) SELECT jid, newest.version - (newest.n - fresh.n) * $3 FROM fresh, newest
  ON CONFLICT (jid) DO UPDATE SET version = excluded.version RETURNING jid, version
)
SELECT jid, version FROM again UNION ALL SELECT jid, version FROM cancelled;

-- clear: removes the cancellations of jobs, each named once. $2: the versions of those that were dropped, and else NULL.
WITH ended AS (
  SELECT * FROM unnest($1::text[], $2::bigint[]) AS e(jid, version)
), dropped AS (
  UPDATE hk.cancellation AS c SET version = ended.version FROM ended
  WHERE c.jid = ended.jid AND c.version > 0 AND ended.version IS NOT NULL RETURNING c.jid
), removed AS (
  DELETE FROM hk.cancellation AS c USING ended WHERE c.jid = ended.jid AND c.version > 0 AND ended.version IS NULL
)
SELECT jid FROM dropped;

-- among: returns the jobs that have a cancellation.
SELECT jid FROM hk.cancellation WHERE version > 0 AND jid = ANY($1::text[]);

-- since: returns cancellations after a version, oldest first, each with the newest version. Without any there is one row.
SELECT c.jid, c.version, newest.version AS newest FROM hk.newest_cancellation AS newest
LEFT JOIN (SELECT jid, version FROM hk.cancellation WHERE version > $1 ORDER BY version LIMIT $2) AS c ON true ORDER BY c.version;
