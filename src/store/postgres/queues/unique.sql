-- deleteOld: deletes some locks whose time is over.
DELETE FROM hk.unique_lock WHERE key IN (SELECT key FROM hk.unique_lock WHERE ends <= $1 ORDER BY ends LIMIT 1000);

-- acquire: gives free locks, each named once, to jobs. Deletes at most 1,000 other locks whose time is over.
-- $6 is the time of the push, $7 the clock of the pushing process: while that clock is ahead of the server's, the locks are
-- kept for the difference.
WITH old AS (
  DELETE FROM hk.unique_lock WHERE key IN (
    SELECT key FROM hk.unique_lock WHERE ends <= (SELECT $6::bigint - greatest($7::bigint - hk.micros() / 1000, 0))
    AND key <> ALL($1::text[]) ORDER BY ends LIMIT 1000
  )
)
INSERT INTO hk.unique_lock (key, holder, ends, outlives, due)
SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::double precision[])
ON CONFLICT (key) DO UPDATE SET
  holder = excluded.holder, ends = excluded.ends, outlives = excluded.outlives, suspicion = NULL, due = excluded.due;

-- find: returns those locks that are held.
SELECT key, holder, ends, outlives, suspicion, due FROM hk.unique_lock WHERE key = ANY($1::text[]) AND (ends IS NULL OR ends > $2);

-- list: returns locks behind a key.
SELECT key, holder, ends, outlives, suspicion FROM hk.unique_lock WHERE key > $1 ORDER BY key LIMIT $2;

-- keep: removes the suspicion of locks that these jobs have.
UPDATE hk.unique_lock AS l SET suspicion = NULL, due = n.due
FROM unnest($1::text[], $2::text[], $3::double precision[]) AS n(key, holder, due)
WHERE l.key = n.key AND l.holder = n.holder;

-- keepOrAcquire: the same, and gives free locks to the jobs.
INSERT INTO hk.unique_lock AS l (key, holder, due, ends)
SELECT * FROM unnest($1::text[], $2::text[], $3::double precision[], $4::bigint[]) AS n(key, holder, due, ends)
WHERE n.ends IS NULL OR n.ends > $5
ON CONFLICT (key) DO UPDATE SET holder = excluded.holder, ends = excluded.ends, suspicion = NULL, due = excluded.due, outlives = 0
WHERE l.holder = excluded.holder OR l.ends <= $5;

-- suspect: stores the suspicion that locks have no job any more, of those that these jobs have.
UPDATE hk.unique_lock AS l SET suspicion = $1 FROM unnest($2::text[], $3::text[]) AS n(key, holder)
WHERE l.key = n.key AND l.holder = n.holder AND outlives = 0;

-- release: releases locks that these jobs have and that, unless it is NULL, have this suspicion.
DELETE FROM hk.unique_lock AS l USING unnest($1::text[], $2::text[], $3::text[]) AS n(key, holder, suspicion)
WHERE l.key = n.key AND l.holder = n.holder AND (n.suspicion IS NULL OR l.suspicion = n.suspicion) RETURNING l.key;
