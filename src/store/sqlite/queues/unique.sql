-- deleteOld: deletes the locks whose time is over.
DELETE FROM hk_unique_lock WHERE ends <= ?;

-- acquire: gives a free lock to a job.
INSERT INTO hk_unique_lock (key, holder, ends, outlives, due) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- find: returns a lock. Its key and holder are JSON, because drivers cut a column at NUL.
SELECT json_quote(key) AS keyJson, json_quote(holder) AS holderJson, ends, outlives, suspicion, due
FROM hk_unique_lock WHERE key = ?1 AND (ends IS NULL OR ends > ?2);

-- list: returns locks behind a key, in the same form.
SELECT json_quote(key) AS keyJson, json_quote(holder) AS holderJson, ends, outlives, suspicion
FROM hk_unique_lock WHERE key > ? ORDER BY key LIMIT ?;

-- keep: removes the suspicion of a lock, if this job has it.
UPDATE hk_unique_lock SET suspicion = NULL, due = ? WHERE key = ? AND holder = ?;

-- keepOrAcquire: the same, and gives the lock to the job if it is free.
INSERT INTO hk_unique_lock (key, holder, ends, due) SELECT ?1, ?2, ?3, ?4 WHERE ?3 IS NULL OR ?3 > ?5
ON CONFLICT (key) DO UPDATE SET holder = excluded.holder, ends = excluded.ends, suspicion = NULL, due = excluded.due, outlives = 0
WHERE holder = excluded.holder OR ends <= ?5;

-- suspect: stores the suspicion that a lock has no job any more, if this job has it.
UPDATE hk_unique_lock SET suspicion = ? WHERE key = ? AND holder = ? AND outlives = 0;

-- release: releases a lock if this job has it and, unless ?3 is NULL, it has this suspicion.
DELETE FROM hk_unique_lock WHERE key = ?1 AND holder = ?2 AND (?3 IS NULL OR suspicion = ?3);

-- some: returns a row if any lock is held.
SELECT 1 FROM hk_unique_lock LIMIT 1;
