-- holder: who has a lock.
SELECT holder FROM lock WHERE name = ?;

-- take: gives a lock to a job.
INSERT INTO lock (name, holder) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET holder = excluded.holder;

-- release: frees a lock, if this job has it.
DELETE FROM lock WHERE name = ? AND holder = ?;

-- some: a row when anybody has a lock.
SELECT 1 FROM lock LIMIT 1;
