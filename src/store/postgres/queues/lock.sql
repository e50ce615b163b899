-- holder: returns the holder of a lock.
SELECT holder FROM hk.lock WHERE name = $1;

-- acquire: gives a lock to a job.
INSERT INTO hk.lock (name, holder) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET holder = excluded.holder;

-- release: releases locks that these jobs have.
DELETE FROM hk.lock AS l USING unnest($1::text[], $2::text[]) AS n(name, holder) WHERE l.name = n.name AND l.holder = n.holder;
