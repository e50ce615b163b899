-- holder: returns the holder of a lock.
SELECT holder FROM hk_lock WHERE name = ?;

-- acquire: gives a lock to a job.
INSERT INTO hk_lock (name, holder) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET holder = excluded.holder;

-- release: releases a lock if this job has it.
DELETE FROM hk_lock WHERE name = ? AND holder = ?;

-- some: returns a row if any lock is held.
SELECT 1 FROM hk_lock LIMIT 1;
