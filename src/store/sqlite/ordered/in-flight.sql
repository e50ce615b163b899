-- add: puts an id in flight.
INSERT INTO hk_ordered_in_flight
  (queue, id, shard, fetch_number, fetched_at, has_waiting, perform_in, retry_count, crashes, suspect, error, text)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- some: returns a row if any id is in flight.
SELECT 1 FROM hk_ordered_in_flight WHERE queue = ? LIMIT 1;

-- among: returns the ids of a JSON array that are in flight.
SELECT json_group_array(f.id) AS json
FROM json_each(?2) AS named CROSS JOIN hk_ordered_in_flight AS f ON f.queue = ?1 AND f.id = named.value;

-- find: returns ids in flight; the first ?3 with their state. The fifth value: whether the id has waiting payloads.
SELECT json_group_array(json_array(
  f.id, f.shard, f.fetch_number, f.cancelled, w.id IS NOT NULL, CASE WHEN named.key < ?3 THEN json_array(
    format('%!.17g', f.perform_in), f.retry_count, f.crashes, f.suspect, f.error, f.text,
    CASE WHEN f.score IS NOT NULL THEN format('%!.17g', f.score) END
  ) END
)) AS json
FROM json_each(?2) AS named CROSS JOIN hk_ordered_in_flight AS f ON f.queue = ?1 AND f.id = named.value
LEFT JOIN hk_ordered_waiting AS w ON w.queue = ?1 AND w.id = f.id;

-- ofShard: returns the ids of a shard that are in flight.
SELECT json_group_array(id) AS json FROM hk_ordered_in_flight WHERE queue = ? AND shard = ?;

-- remove: deletes the ids of a JSON array.
DELETE FROM hk_ordered_in_flight WHERE queue = ?1 AND id IN (SELECT value FROM json_each(?2));

-- noteWaiting: stores that the ids of a JSON array have waiting payloads.
UPDATE hk_ordered_in_flight SET has_waiting = 1 WHERE queue = ?1 AND id IN (SELECT value FROM json_each(?2));

-- done: deletes the ids of one fetch that have no waiting payloads and are not cancelled.
DELETE FROM hk_ordered_in_flight
WHERE queue = ?1 AND shard = ?2 AND fetch_number = ?3 AND has_waiting = 0 AND cancelled = 0
AND id IN (SELECT value FROM json_each(?4));

-- cancel: stores that the ids of a JSON array are cancelled.
UPDATE hk_ordered_in_flight SET cancelled = 1 WHERE queue = ?1 AND id IN (SELECT value FROM json_each(?2));

-- cancelled: returns the cancelled ids of an owner.
SELECT json_group_array(json_array(id, f.shard, f.fetch_number)) AS json
FROM hk_ordered_in_flight AS f INDEXED BY hk_ordered_cancelled
CROSS JOIN hk_ordered_shard AS s ON s.queue = f.queue AND s.shard = f.shard
WHERE f.queue = ?1 AND cancelled = 1 AND owner = ?2;

-- list: returns the ids in flight, in order: of the owner ?2 or of all, and from the id ?3 to the id ?4.
SELECT json_group_array(json_array(id, shard, fetch_number, token, name, fetched_at)) AS json
FROM (
  SELECT f.id, f.shard, f.fetch_number, token, owner.name, fetched_at
  FROM hk_ordered_in_flight AS f JOIN hk_ordered_shard AS s ON s.queue = f.queue AND s.shard = f.shard
  LEFT JOIN hk_owner AS owner ON owner.id = s.owner
  WHERE f.queue = ?1 AND (?2 IS NULL OR owner.name = ?2) AND f.id BETWEEN ?3 AND ?4 ORDER BY f.id LIMIT -1
);
