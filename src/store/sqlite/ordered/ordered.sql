-- find: returns a queue.
SELECT id, shards, from_shards AS "from", reshard_after AS reshardAfter, paused, version, morgue FROM hk_ordered_queue WHERE name = ?;

-- names: returns the names of all queues.
SELECT json_group_array(name) AS json FROM (SELECT name FROM hk_ordered_queue ORDER BY name LIMIT -1);

-- define: creates a queue if it does not exist.
INSERT INTO hk_ordered_queue (name, shards) VALUES (?, ?) ON CONFLICT DO NOTHING;

-- addShards: adds missing shards below ?2. Their fetches are counted from ?3 on.
WITH RECURSIVE number(shard) AS (SELECT 0 UNION ALL SELECT shard + 1 FROM number WHERE shard + 1 < ?2)
INSERT INTO hk_ordered_shard (queue, shard, fetch_number) SELECT ?1, shard, ?3 FROM number WHERE true ON CONFLICT DO NOTHING;

-- change: stores the row of a queue.
UPDATE hk_ordered_queue SET shards = ?2, from_shards = ?3, reshard_after = ?4, paused = ?5, version = ?6, morgue = ?7
WHERE id = ?1;

-- delete: deletes a queue.
DELETE FROM hk_ordered_queue WHERE id = ?;

-- deleteShards: deletes the shards of a queue.
DELETE FROM hk_ordered_shard WHERE queue = ?;

-- deleteMembers: deletes the members of a queue.
DELETE FROM hk_ordered_member WHERE queue = ?;

-- shard: returns a shard of a queue.
SELECT shard, owner, token, busy, fresh, retries, processed, failed, fetch_number AS fetchNumber, alone,
  next_due AS nextDue
FROM hk_ordered_shard WHERE queue = ? AND shard = ?;

-- allShards: returns the numbers of all current and former shards.
SELECT json_group_array(shard) AS json FROM hk_ordered_shard WHERE queue = ?;

-- changeShard: stores a shard.
UPDATE hk_ordered_shard SET owner = ?3, token = ?4, busy = ?5, fresh = ?6, retries = ?7, processed = ?8, failed = ?9,
  fetch_number = ?10, alone = ?11, next_due = ?12
WHERE queue = ?1 AND shard = ?2;

-- growShard: counts ?3 more ids without failures. No change: one of them may be due earlier than known.
UPDATE hk_ordered_shard SET fresh = fresh + ?3 WHERE queue = ?1 AND shard = ?2 AND next_due <= ?4;

-- shards: returns the first ?2 shards in order, with the names of owners that have a lease, and the time (or null) at which
-- the first id is due.
SELECT json_group_array(json_array(
  shard, name, token, fresh, retries, busy, processed, failed, CASE WHEN next IS NOT NULL THEN format('%!.17g', next) END
)) AS json
FROM (
  SELECT shard, owner.name, token, fresh, retries, busy, processed, failed, (
    SELECT perform_in FROM hk_ordered_waiting AS w
    WHERE w.queue = ?1 AND w.shard = s.shard AND in_flight = 0 ORDER BY perform_in LIMIT 1
  ) AS next
  FROM hk_ordered_shard AS s LEFT JOIN hk_owner AS owner ON owner.id = s.owner AND claimed = 0
  WHERE queue = ?1 AND shard < ?2 ORDER BY shard LIMIT -1
);

-- join: adds a member.
INSERT INTO hk_ordered_member (queue, owner) VALUES (?, ?) ON CONFLICT DO NOTHING;

-- removeMember: removes a member.
DELETE FROM hk_ordered_member WHERE queue = ? AND owner = (SELECT id FROM hk_owner WHERE name = ?);

-- members: returns the members that have a lease, in order.
SELECT json_group_array(name) AS json FROM (
  SELECT name FROM hk_ordered_member AS m JOIN hk_owner AS owner ON owner.id = m.owner
  WHERE queue = ? AND claimed = 0 ORDER BY name LIMIT -1
);

-- member: returns the id of a member that has a lease.
SELECT owner.id FROM hk_ordered_member AS m JOIN hk_owner AS owner ON owner.id = m.owner
WHERE queue = ? AND name = ? AND claimed = 0;

-- hasLease: returns a row if an owner has a lease.
SELECT 1 FROM hk_owner WHERE id = ? AND claimed = 0;

-- owned: returns the numbers of the shards of an owner.
SELECT json_group_array(shard) AS json FROM hk_ordered_shard
WHERE queue = ? AND owner = (SELECT id FROM hk_owner WHERE name = ?);

-- nextNumber: returns a number that no queue has had as a token or a fetch number, at least now (ms).
UPDATE hk_ordered_highest SET number = max(number + 1, ?) RETURNING number;

-- keepNumbers: stores the highest tokens and fetch numbers of a queue that is deleted.
UPDATE hk_ordered_highest SET number = max(number, (SELECT max(token, fetch_number) FROM hk_ordered_shard WHERE queue = ?1
  ORDER BY max(token, fetch_number) DESC LIMIT 1)) WHERE EXISTS (SELECT 1 FROM hk_ordered_shard WHERE queue = ?1);
