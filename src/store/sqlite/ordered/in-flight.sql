-- enter: an id is in flight.
INSERT INTO ordered_flight
  (queue, id, shard, take, taken_at, more, perform_in, retry_count, stalls, suspect, error, text)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- among: those of a JSON array that are in flight.
SELECT json_group_array(f.id) AS json
FROM json_each(?2) AS named CROSS JOIN ordered_flight AS f ON f.queue = ?1 AND f.id = named.value;

-- find: those of a JSON array; of the first ?3 with what was taken. The fifth: whether more of it waits.
SELECT json_group_array(json_array(
  f.id, f.shard, f.take, f.cancelled, w.id IS NOT NULL, CASE WHEN named.key < ?3 THEN json_array(
    format('%!.17g', f.perform_in), f.retry_count, f.stalls, f.suspect, f.error, f.text,
    CASE WHEN f.score IS NOT NULL THEN format('%!.17g', f.score) END
  ) END
)) AS json
FROM json_each(?2) AS named CROSS JOIN ordered_flight AS f ON f.queue = ?1 AND f.id = named.value
LEFT JOIN ordered_waiting AS w ON w.queue = ?1 AND w.id = f.id;

-- ofShard: names of all that is in flight under a shard.
SELECT json_group_array(id) AS json FROM ordered_flight WHERE queue = ? AND shard = ?;

-- remove: those of a JSON array are in flight no more.
DELETE FROM ordered_flight WHERE queue = ?1 AND id IN (SELECT value FROM json_each(?2));

-- more: something waits of those of a JSON array.
UPDATE ordered_flight SET more = 1 WHERE queue = ?1 AND id IN (SELECT value FROM json_each(?2));

-- done: those of a take are in flight no more, where nothing else is known of them.
DELETE FROM ordered_flight
WHERE queue = ?1 AND shard = ?2 AND take = ?3 AND more = 0 AND cancelled = 0
AND id IN (SELECT value FROM json_each(?4));

-- cancel: those of a JSON array are dropped when they are settled.
UPDATE ordered_flight SET cancelled = 1 WHERE queue = ?1 AND id IN (SELECT value FROM json_each(?2));

-- cancelled: those of an owner that were.
SELECT json_group_array(json_array(id, f.shard, f.take)) AS json
FROM ordered_flight AS f INDEXED BY ordered_cancelled
CROSS JOIN ordered_shard AS s ON s.queue = f.queue AND s.shard = f.shard
WHERE f.queue = ?1 AND cancelled = 1 AND owner = ?2;

-- list: all, or that of one owner, in order; or that of one id.
SELECT json_group_array(json_array(id, shard, take, token, name, taken_at)) AS json
FROM (
  SELECT f.id, f.shard, f.take, token, owner.name, taken_at
  FROM ordered_flight AS f JOIN ordered_shard AS s ON s.queue = f.queue AND s.shard = f.shard
  LEFT JOIN owner ON owner.id = s.owner
  WHERE f.queue = ?1 AND (?2 IS NULL OR owner.name = ?2) ORDER BY f.id LIMIT -1
);

-- one: that of one id.
SELECT json_array(f.id, f.shard, f.take, token, owner.name, taken_at) AS json
FROM ordered_flight AS f JOIN ordered_shard AS s ON s.queue = f.queue AND s.shard = f.shard
LEFT JOIN owner ON owner.id = s.owner WHERE f.queue = ? AND f.id = ?;
