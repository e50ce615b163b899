-- join: adds an owner with its lease. No row: the name is in use.
INSERT INTO hk.owner (name, host, seconds, stamp, renewed_at)
VALUES ($1, $2, $3, nextval('hk.renewal'), extract(epoch FROM clock_timestamp()) * 1000) ON CONFLICT DO NOTHING RETURNING id;

-- current: returns an owner that has a lease, and the newest version of the cancellations.
SELECT id AS owner, (SELECT version FROM hk.newest_cancellation) AS cancellations FROM hk.owner WHERE name = $1 AND claimed = 0;

-- renew: renews a lease, also if it has ended. No row: the owner is claimed or unknown.
UPDATE hk.owner SET stamp = nextval('hk.renewal'), seconds = $2, renewed_at = extract(epoch FROM clock_timestamp()) * 1000
WHERE name = $1 AND claimed = 0 RETURNING id;

-- release: deletes an owner that has no jobs and no shard with ids in flight.
DELETE FROM hk.owner AS owner
WHERE name = $1 AND claimed = 0 AND NOT EXISTS (SELECT 1 FROM hk.fetched AS fetched WHERE fetched.owner = owner.id)
AND NOT EXISTS (SELECT 1 FROM hk.ordered_shard AS shard WHERE shard.owner = owner.id AND busy > 0)
RETURNING id;

-- list: returns all leases.
SELECT name AS owner, host, seconds, stamp, claimed, renewed_at + seconds * 1000 < extract(epoch FROM clock_timestamp()) * 1000 AS ended
FROM hk.owner ORDER BY id;

-- newestStamp: returns the number of the newest renewal.
SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS stamp FROM hk.renewal;

-- claim: claims an owner that was not claimed; with $2, if its newest renewal has this number.
UPDATE hk.owner SET claimed = 1, claimed_at = extract(epoch FROM clock_timestamp()) * 1000
WHERE name = $1 AND claimed = 0 AND ($2::bigint IS NULL OR stamp = $2) RETURNING id;

-- seconds: returns for how long a lease is valid.
SELECT seconds FROM hk.owner WHERE name = $1 AND claimed = 0;

-- settle: deletes fetched jobs of an owner, and returns the indexes of those that it had, from 1.
DELETE FROM hk.fetched AS fetched
USING unnest($2::bigint[], $3::bigint[], $4::bigint[]) WITH ORDINALITY AS ended (queue, position, fetch_number, nth)
WHERE fetched.owner = $1 AND fetched.queue = ended.queue AND fetched.position = ended.position
AND fetched.fetch_number = ended.fetch_number
RETURNING nth;

-- fetchedBy: returns the fetched jobs of an owner that has a lease.
SELECT queue.name AS queue, fetched.queue AS "queueId", position, fetch_number AS "fetchNumber", text
FROM hk.fetched AS fetched JOIN hk.queue AS queue ON queue.id = fetched.queue
WHERE fetched.owner = (SELECT id FROM hk.owner WHERE name = $1 AND claimed = 0) ORDER BY fetched.queue, position;

-- orphaned: returns jobs of claimed owners, newest first within each queue, because each goes in front of the one before. At most $1
-- jobs; it stops once their texts have $2 bytes.
WITH newest AS (
  SELECT fetched.owner, fetched.queue, position, octet_length(text)::bigint AS bytes
  FROM hk.owner AS owner JOIN hk.fetched AS fetched ON fetched.owner = owner.id
  WHERE owner.claimed = 1 ORDER BY fetched.queue, position DESC LIMIT $1
), counted AS (
  SELECT owner, queue, position, sum(bytes) OVER (ORDER BY queue, position DESC ROWS UNBOUNDED PRECEDING) - bytes AS before FROM newest
)
SELECT owner.name AS owner, queue.name AS queue, fetched.queue AS "queueId", position, fetch_number AS "fetchNumber", text
FROM counted JOIN hk.fetched AS fetched USING (owner, queue, position)
JOIN hk.owner AS owner ON owner.id = fetched.owner JOIN hk.queue AS queue ON queue.id = fetched.queue
WHERE before < $2::bigint ORDER BY fetched.queue, position DESC;

-- rescue: deletes jobs of claimed owners, and returns the indexes of those that they had, from 1.
DELETE FROM hk.fetched AS fetched
USING unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[]) WITH ORDINALITY AS rescued (owner, queue, position, fetch_number, nth)
JOIN hk.owner AS owner ON owner.name = rescued.owner AND claimed = 1
WHERE fetched.owner = owner.id AND fetched.queue = rescued.queue AND fetched.position = rescued.position
AND fetched.fetch_number = rescued.fetch_number
RETURNING nth;

-- deleteOld: deletes owners that were claimed more than $1 ms ago and have no jobs.
DELETE FROM hk.owner AS owner
WHERE claimed = 1 AND claimed_at < extract(epoch FROM clock_timestamp()) * 1000 - $1
AND NOT EXISTS (SELECT 1 FROM hk.fetched AS fetched WHERE fetched.owner = owner.id);

-- acquireLock: gives a lock to a holder, if it is free, has ended, or is this holder's.
INSERT INTO hk.leader_lock AS lock (name, holder, ends) VALUES ($1, $2, extract(epoch FROM clock_timestamp()) * 1000 + $3)
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, ends = excluded.ends
WHERE lock.holder = excluded.holder OR lock.ends <= extract(epoch FROM clock_timestamp()) * 1000
OR lock.ends > extract(epoch FROM clock_timestamp()) * 1000 + $4 RETURNING name;

-- releaseLock: releases a lock if this holder has it.
DELETE FROM hk.leader_lock WHERE name = $1 AND holder = $2;

-- fetched: returns fetched jobs, from behind (owner, queue, position) on.
SELECT owner.name AS owner, queue.name AS queue, fetched.owner AS "ownerId", fetched.queue AS "queueId", position, text
FROM hk.fetched AS fetched JOIN hk.owner AS owner ON owner.id = fetched.owner JOIN hk.queue AS queue ON queue.id = fetched.queue
WHERE (fetched.owner, fetched.queue, position) > ($1::bigint, $2::bigint, $3::bigint) ORDER BY fetched.owner, fetched.queue, position LIMIT $4;

-- setting: returns the value of a setting of the server.
SELECT current_setting($1) AS value;
