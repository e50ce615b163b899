-- find: returns a queue.
SELECT id, shards, from_shards AS "from", reshard_after AS "reshardAfter", paused, version, morgue FROM hk.ordered_queue
WHERE name = $1;

-- findFor: returns a queue with the id of an owner that has a lease, some of its shards, and whether any id in flight is
-- cancelled.
SELECT q.id, shards, from_shards AS "from", reshard_after AS "reshardAfter", paused, version, morgue, o.id AS "ownerId", (
  SELECT json_agg(s) FROM (
    SELECT shard, owner, token, busy, fresh, retries, processed, failed, fetch_number AS "fetchNumber", alone,
      next_due AS "nextDue", died
    FROM hk.ordered_shard WHERE queue = q.id AND shard = ANY($3::bigint[])
  ) AS s
) AS "shardRows",
  EXISTS (SELECT 1 FROM hk.ordered_in_flight AS f WHERE f.queue = q.id AND f.cancelled = 1) AS "hasCancelled"
FROM hk.ordered_queue AS q LEFT JOIN hk.owner AS o ON o.name = $2 AND o.claimed = 0 WHERE q.name = $1;

-- findAmong: returns a queue, and the places of those of these ids that are in flight, and of those that wait.
SELECT q.id, shards, from_shards AS "from", reshard_after AS "reshardAfter", paused, version, morgue, ARRAY(
  SELECT nth::integer FROM unnest($2::text[]) WITH ORDINALITY AS named(id, nth)
  CROSS JOIN LATERAL (SELECT 1 FROM hk.ordered_in_flight AS f WHERE f.queue = q.id AND f.id = named.id LIMIT 1) AS found
) AS "inFlight", ARRAY(
  SELECT nth::integer FROM unnest($2::text[]) WITH ORDINALITY AS named(id, nth)
  CROSS JOIN LATERAL (SELECT 1 FROM hk.ordered_waiting AS w WHERE w.queue = q.id AND w.id = named.id LIMIT 1) AS found
) AS waiting
FROM hk.ordered_queue AS q WHERE name = $1;

-- names: returns the names of all queues.
SELECT name FROM hk.ordered_queue ORDER BY name;

-- versions: returns the versions of queues.
SELECT name, version FROM hk.ordered_queue WHERE name = ANY($1::text[]);

-- define: creates a queue.
INSERT INTO hk.ordered_queue (name, shards) VALUES ($1, $2);

-- addShards: adds missing shards below $2. Their fetches are counted from $3 on.
INSERT INTO hk.ordered_shard (queue, shard, fetch_number)
SELECT $1, shard, $3 FROM generate_series(0, $2::bigint - 1) AS number(shard) ON CONFLICT DO NOTHING;

-- change: stores the row of a queue.
UPDATE hk.ordered_queue SET shards = $2, from_shards = $3, reshard_after = $4, paused = $5, version = $6, morgue = $7
WHERE id = $1;

-- delete: deletes a queue.
DELETE FROM hk.ordered_queue WHERE id = $1;

-- deleteShards: deletes the shards of a queue.
DELETE FROM hk.ordered_shard WHERE queue = $1;

-- deleteMembers: deletes the members of a queue.
DELETE FROM hk.ordered_member WHERE queue = $1;

-- someShards: returns shards of a queue.
SELECT shard, owner, token, busy, fresh, retries, processed, failed, fetch_number AS "fetchNumber", alone,
  next_due AS "nextDue", died
FROM hk.ordered_shard WHERE queue = $1 AND shard = ANY($2::bigint[]);

-- formerShards: returns the numbers of the shards from $2 on, which are gone.
SELECT shard FROM hk.ordered_shard WHERE queue = $1 AND shard >= $2;

-- changeShards: stores shards.
UPDATE hk.ordered_shard AS s SET owner = c.owner, token = c.token, busy = c.busy, fresh = c.fresh, retries = c.retries,
  processed = c.processed, failed = c.failed, fetch_number = c.fetch_number, alone = c.alone, next_due = c.next_due,
  died = c.died
FROM unnest(
  $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[],
  $10::bigint[], $11::bigint[], $12::bigint[], $13::text[]
) AS c(shard, owner, token, busy, fresh, retries, processed, failed, fetch_number, alone, next_due, died)
WHERE s.queue = $1 AND s.shard = c.shard;

-- shards: returns the first $2 shards in order, with the names of owners that have a lease, and the time (or null) at which
-- the first id is due.
SELECT shard, owner.name AS owner, token, fresh, retries, busy, processed, failed, (
  SELECT perform_in FROM hk.ordered_waiting AS w
  WHERE w.queue = $1 AND w.shard = s.shard AND in_flight = 0 ORDER BY perform_in LIMIT 1
) AS next
FROM hk.ordered_shard AS s LEFT JOIN hk.owner AS owner ON owner.id = s.owner AND claimed = 0
WHERE queue = $1 AND shard < $2 ORDER BY shard;

-- join: adds a member.
INSERT INTO hk.ordered_member (queue, owner) VALUES ($1, $2) ON CONFLICT DO NOTHING;

-- removeMember: removes a member.
DELETE FROM hk.ordered_member WHERE queue = $1 AND owner = (SELECT id FROM hk.owner WHERE name = $2);

-- members: returns the members that have a lease, in order.
SELECT name FROM hk.ordered_member AS m JOIN hk.owner AS owner ON owner.id = m.owner
WHERE queue = $1 AND claimed = 0 ORDER BY name;

-- member: returns the id of a member that has a lease.
SELECT owner.id FROM hk.ordered_member AS m JOIN hk.owner AS owner ON owner.id = m.owner
WHERE queue = $1 AND name = $2 AND claimed = 0;

-- hasLease: returns a row if an owner has a lease.
SELECT 1 FROM hk.owner WHERE id = $1 AND claimed = 0;

-- owned: returns the numbers of the shards of an owner.
SELECT shard FROM hk.ordered_shard WHERE queue = $1 AND owner = (SELECT id FROM hk.owner WHERE name = $2);

-- nextNumber: returns a number that no queue has had as a token or a fetch number, at least now (ms).
UPDATE hk.ordered_highest SET number = greatest(number + 1, $1) RETURNING number;

-- keepNumbers: stores the highest token or fetch number of a queue that is deleted.
UPDATE hk.ordered_highest SET number = greatest(
  number, (SELECT max(greatest(token, fetch_number)) FROM hk.ordered_shard WHERE queue = $1)
);
