-- find: a queue.
SELECT id, shards, from_shards AS "from", swept, paused, news, morgue FROM ordered_queue WHERE name = ?;

-- names: of all queues.
SELECT json_group_array(name) AS json FROM (SELECT name FROM ordered_queue ORDER BY name LIMIT -1);

-- define: enters a queue; harmless when it is there.
INSERT INTO ordered_queue (name, shards) VALUES (?, ?) ON CONFLICT DO NOTHING;

-- addShards: a queue has the shards below ?2; those that were there are left. Takes are counted from ?3 on.
WITH RECURSIVE number(shard) AS (SELECT 0 UNION ALL SELECT shard + 1 FROM number WHERE shard + 1 < ?2)
INSERT INTO ordered_shard (queue, shard, take) SELECT ?1, shard, ?3 FROM number WHERE true ON CONFLICT DO NOTHING;

-- change: what changes of a queue's own row.
UPDATE ordered_queue SET shards = ?2, from_shards = ?3, swept = ?4, paused = ?5, news = ?6, morgue = ?7 WHERE id = ?1;

-- forget: drops a queue.
DELETE FROM ordered_queue WHERE id = ?;

-- forgetShards: and its shards.
DELETE FROM ordered_shard WHERE queue = ?;

-- forgetMembers: and who was a member.
DELETE FROM ordered_member WHERE queue = ?;

-- shard: one of its shards.
SELECT shard, owner, token, busy, fresh, retries, processed, failed, take, alone, known
FROM ordered_shard WHERE queue = ? AND shard = ?;

-- allShards: numbers of all that there ever were.
SELECT json_group_array(shard) AS json FROM ordered_shard WHERE queue = ?;

-- changeShard: what changes of it.
UPDATE ordered_shard SET owner = ?3, token = ?4, busy = ?5, fresh = ?6, retries = ?7, processed = ?8, failed = ?9,
  take = ?10, alone = ?11, known = ?12
WHERE queue = ?1 AND shard = ?2;

-- growShard: ?3 fresh ids wait that are not due before what is known; no row changes when they may be.
UPDATE ordered_shard SET fresh = fresh + ?3 WHERE queue = ?1 AND shard = ?2 AND known <= ?4;

-- board: the first ?2 shards in order, with the owner's name where its lease holds.
SELECT json_group_array(json_array(shard, name, token)) AS json
FROM (
  SELECT shard, owner.name, token FROM ordered_shard
  LEFT JOIN owner ON owner.id = ordered_shard.owner AND claimed = 0
  WHERE queue = ?1 AND shard < ?2 ORDER BY shard LIMIT -1
);

-- numbers: the same, with what is counted and when the first is due.
SELECT json_group_array(json_array(shard, name, fresh, retries, busy, processed, failed, format('%!.17g', next), next IS NULL)) AS json
FROM (
  SELECT shard, owner.name, fresh, retries, busy, processed, failed, (
    SELECT perform_in FROM ordered_waiting AS w
    WHERE w.queue = ?1 AND w.shard = ordered_shard.shard AND held = 0 ORDER BY perform_in LIMIT 1
  ) AS next
  FROM ordered_shard LEFT JOIN owner ON owner.id = ordered_shard.owner AND claimed = 0
  WHERE queue = ?1 AND shard < ?2 ORDER BY shard LIMIT -1
);

-- join: somebody whose lease holds becomes a member.
INSERT INTO ordered_member (queue, owner) VALUES (?, ?) ON CONFLICT DO NOTHING;

-- strike: somebody is a member no more.
DELETE FROM ordered_member WHERE queue = ? AND owner = (SELECT id FROM owner WHERE name = ?);

-- members: whose lease holds, in order.
SELECT json_group_array(name) AS json FROM (
  SELECT name FROM ordered_member JOIN owner ON owner.id = ordered_member.owner
  WHERE queue = ? AND claimed = 0 ORDER BY name LIMIT -1
);

-- member: the id of a member whose lease holds.
SELECT owner.id FROM ordered_member JOIN owner ON owner.id = ordered_member.owner
WHERE queue = ? AND name = ? AND claimed = 0;

-- holds: whether an owner's lease does.
SELECT 1 FROM owner WHERE id = ? AND claimed = 0;

-- owned: numbers of the shards of an owner, by its name.
SELECT json_group_array(shard) AS json FROM ordered_shard
WHERE queue = ? AND owner = (SELECT id FROM owner WHERE name = ?);

-- nextNumber: returns a number that no queue has had as a token or a take, of now (ms) or above.
UPDATE ordered_highest SET number = max(number + 1, ?) RETURNING number;

-- keepNumbers: remembers the tokens and takes of a queue that is about to be deleted.
UPDATE ordered_highest SET number = max(number, (SELECT max(token, take) FROM ordered_shard WHERE queue = ?1
  ORDER BY max(token, take) DESC LIMIT 1)) WHERE EXISTS (SELECT 1 FROM ordered_shard WHERE queue = ?1);
