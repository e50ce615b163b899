-- join: adds an owner with its lease. No row: the name is in use.
INSERT INTO hk_owner (name, host, boot, ends, seconds) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING id;

-- current: returns an owner that has a lease, and the newest version of the cancellations.
SELECT id AS owner, (SELECT version FROM hk_newest_cancellation) AS cancellations FROM hk_owner WHERE name = ? AND claimed = 0;

-- renew: sets the end of a lease, also if it has ended. No row: the owner is claimed or unknown.
UPDATE hk_owner SET ends = ?, seconds = ?, boot = ? WHERE name = ? AND claimed = 0 RETURNING id;

-- release: deletes an owner that has no jobs and no shard with ids in flight.
DELETE FROM hk_owner
WHERE name = ? AND claimed = 0 AND NOT EXISTS (SELECT 1 FROM hk_fetched AS f WHERE f.owner = hk_owner.id)
AND NOT EXISTS (SELECT 1 FROM hk_ordered_shard AS s WHERE s.owner = hk_owner.id AND busy > 0)
RETURNING id;

-- list: returns all leases.
SELECT name AS owner, host, boot, ends, seconds, claimed FROM hk_owner ORDER BY id;

-- find: returns a lease.
SELECT id, boot, ends, seconds, claimed FROM hk_owner WHERE name = ?;

-- claim: claims an owner. From then on `ends` is the time of the claim.
UPDATE hk_owner SET claimed = 1, ends = ? WHERE id = ?;

-- fetchedOf: returns those positions of a JSON array that an owner has fetched.
SELECT json_group_array(position) AS json FROM hk_fetched
WHERE owner = ? AND queue = ? AND position IN (SELECT value FROM json_each(?));

-- settle: deletes fetched jobs of an owner.
DELETE FROM hk_fetched WHERE owner = ? AND queue = ? AND position IN (SELECT value FROM json_each(?));

-- settleRange: deletes fetched jobs of an owner, from one position to another.
DELETE FROM hk_fetched WHERE owner = ? AND queue = ? AND position BETWEEN ? AND ?;

-- orphaned: returns jobs of claimed owners, newest first within each queue, because each goes in front of the one before. At most ?1
-- jobs; it stops once their texts have ?2 characters.
WITH newest AS (
  SELECT fetched.owner, fetched.queue, position, length(text) AS characters
  FROM hk_owner AS owner JOIN hk_fetched AS fetched ON fetched.owner = owner.id
  WHERE owner.claimed = 1 ORDER BY fetched.queue, position DESC LIMIT ?
), counted AS (
  SELECT owner, queue, position,
  SUM(characters) OVER (ORDER BY queue, position DESC ROWS UNBOUNDED PRECEDING) - characters AS before FROM newest
)
SELECT owner.name AS owner, queue.name AS queue, counted.queue AS queueId, counted.position, text
FROM counted JOIN hk_fetched AS fetched
ON fetched.owner = counted.owner AND fetched.queue = counted.queue AND fetched.position = counted.position
JOIN hk_owner AS owner ON owner.id = counted.owner JOIN hk_queue AS queue ON queue.id = counted.queue
WHERE before < ? ORDER BY counted.queue, counted.position DESC;

-- rescue: deletes one job of a claimed owner.
DELETE FROM hk_fetched
WHERE owner = (SELECT id FROM hk_owner WHERE name = ? AND claimed = 1) AND queue = ? AND position = ? RETURNING owner;

-- deleteOld: deletes owners that were claimed long ago and have no jobs.
DELETE FROM hk_owner
WHERE claimed = 1 AND (ends < ? OR boot <> ?) AND NOT EXISTS (SELECT 1 FROM hk_fetched AS f WHERE f.owner = hk_owner.id);

-- lock: returns the holder of a lock.
SELECT holder, boot, ends FROM hk_leader_lock WHERE name = ?;

-- acquireLock: gives a lock to a holder.
INSERT INTO hk_leader_lock (name, holder, boot, ends) VALUES (?, ?, ?, ?)
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, boot = excluded.boot, ends = excluded.ends;

-- releaseLock: releases a lock if this holder has it.
DELETE FROM hk_leader_lock WHERE name = ? AND holder = ?;

-- fetched: returns fetched jobs, from behind (owner, queue, position) on.
SELECT owner.name AS owner, queue.name AS queue, fetched.owner AS ownerId, fetched.queue AS queueId, position, text
FROM hk_fetched AS fetched JOIN hk_owner AS owner ON owner.id = fetched.owner JOIN hk_queue AS queue ON queue.id = fetched.queue
WHERE (fetched.owner, fetched.queue, position) > (?, ?, ?) ORDER BY fetched.owner, fetched.queue, position LIMIT ?;
