-- join: enters an owner with its lease; no row when the name is taken.
INSERT INTO owner (name, host, boot, ends, seconds) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING id;

-- current: an owner that may act, and the newest version of a mark.
SELECT id AS owner, (SELECT version FROM newest_mark) AS marks FROM owner WHERE name = ? AND claimed = 0;

-- renew: sets the end of a lease, also when it was past; no row when the owner is claimed or unknown.
UPDATE owner SET ends = ?, seconds = ?, boot = ? WHERE name = ? AND claimed = 0 RETURNING id;

-- leave: strikes off an owner that holds nothing.
DELETE FROM owner
WHERE name = ? AND claimed = 0 AND NOT EXISTS (SELECT 1 FROM working WHERE working.owner = owner.id)
AND NOT EXISTS (SELECT 1 FROM ordered_shard WHERE ordered_shard.owner = owner.id AND busy > 0)
RETURNING id;

-- list: every lease.
SELECT name, host, boot, ends, seconds, claimed FROM owner ORDER BY id;

-- find: one lease.
SELECT id, boot, ends, seconds, claimed FROM owner WHERE name = ?;

-- claim: takes a lease away for good; `ends` tells when from then on.
UPDATE owner SET claimed = 1, ends = ? WHERE id = ?;

-- settle: ends attempts; answers the places that were there.
DELETE FROM working
WHERE owner = ? AND queue = ? AND place IN (SELECT value FROM json_each(?)) RETURNING place;

-- stranded: jobs of claimed owners, newest first within each queue.
SELECT owner.name AS owner, queue.name AS queue, working.queue AS queueId, place, text
FROM owner JOIN working ON working.owner = owner.id JOIN queue ON queue.id = working.queue
WHERE owner.claimed = 1 ORDER BY working.queue, place DESC LIMIT ?;

-- restore: takes one job from a claimed owner.
DELETE FROM working
WHERE owner = (SELECT id FROM owner WHERE name = ? AND claimed = 1) AND queue = ? AND place = ? RETURNING owner;

-- forgetOld: strikes off owners that were claimed long ago and hold nothing.
DELETE FROM owner
WHERE claimed = 1 AND (ends < ? OR boot <> ?) AND NOT EXISTS (SELECT 1 FROM working WHERE working.owner = owner.id);

-- countTaken: jobs that belong to owners.
SELECT count(*) AS n FROM working;

-- duty: who has a duty.
SELECT holder, boot, ends FROM duty WHERE name = ?;

-- takeDuty: gives a duty to a holder.
INSERT INTO duty (name, holder, boot, ends) VALUES (?, ?, ?, ?)
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, boot = excluded.boot, ends = excluded.ends;

-- dropDuty: gives it up.
DELETE FROM duty WHERE name = ? AND holder = ?;

-- taken: jobs that belong to owners, from behind (owner, queue, place) on.
SELECT owner.name AS owner, queue.name AS queue, working.owner AS ownerId, working.queue AS queueId, place, text
FROM working JOIN owner ON owner.id = working.owner JOIN queue ON queue.id = working.queue
WHERE (working.owner, working.queue, place) > (?, ?, ?) ORDER BY working.owner, working.queue, place LIMIT ?;
