-- add: adds ids.
INSERT INTO hk_ordered_waiting
  (queue, id, shard, in_flight, perform_in, retry_count, crashes, suspect, size, score, error, text)
VALUES (?1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- addFresh: adds ids without failures and with one payload each that do not wait yet. Fewer values make it faster.
INSERT INTO hk_ordered_waiting
  (queue, id, shard, in_flight, perform_in, retry_count, crashes, suspect, size, score, text)
VALUES (?1, ?, ?, 0, ?, -1, 0, 0, 1, ?, ?) ON CONFLICT DO NOTHING;

-- oneOf: returns a row if one of two ids waits.
SELECT 1 FROM hk_ordered_waiting WHERE queue = ? AND id IN (?, ?) LIMIT 1;

-- change: stores an id.
UPDATE hk_ordered_waiting SET shard = ?3, in_flight = ?4, perform_in = ?5, retry_count = ?6, crashes = ?7, suspect = ?8,
  size = ?9, score = ?10, error = ?11, text = ?12
WHERE queue = ?1 AND id = ?2;

-- grow: adds ?2 to the numbers of payloads of the ids of a JSON array. All payloads are in their table, and no index
-- changes.
UPDATE hk_ordered_waiting SET size = size + ?2, score = NULL, text = NULL
WHERE queue = ?1 AND id IN (SELECT value FROM json_each(?3));

-- lower: stores another score for an id with one payload.
UPDATE hk_ordered_waiting SET score = ?3 WHERE queue = ?1 AND id = ?2;

-- remove: deletes the ids of a JSON array.
DELETE FROM hk_ordered_waiting WHERE queue = ?1 AND id IN (SELECT value FROM json_each(?2));

-- find: returns the ids of a JSON array.
SELECT json_group_array(json_array(
  w.id, shard, in_flight, format('%!.17g', perform_in), retry_count, crashes, suspect, size, format('%!.17g', score), error, text
)) AS json
FROM json_each(?2) AS named CROSS JOIN hk_ordered_waiting AS w ON w.queue = ?1 AND w.id = named.value;

-- text: returns the payload of an id with one payload.
SELECT text FROM hk_ordered_waiting WHERE queue = ? AND id = ?;

-- due: returns the ids of a shard that are due next. Long texts are read one by one.
SELECT json_group_array(json_array(
  id, format('%!.17g', perform_in), size, octet_length(text), format('%!.17g', score),
  CASE WHEN octet_length(text) <= 20000 THEN text END,
  CASE WHEN retry_count >= 0 OR crashes > 0 OR suspect OR error IS NOT NULL THEN
    json_array(retry_count, crashes, suspect, error) END
)) AS json
FROM (
  SELECT id, perform_in, size, score, text, retry_count, crashes, suspect, error FROM hk_ordered_waiting
  WHERE queue = ?1 AND shard = ?2 AND in_flight = 0 ORDER BY perform_in, id LIMIT ?3
);

-- fetch: puts all ids of a shard up to (perform_in, id) in flight.
INSERT INTO hk_ordered_in_flight
  (queue, id, shard, fetch_number, fetched_at, perform_in, retry_count, crashes, suspect, score, error, text)
SELECT queue, id, shard, ?5, ?6, perform_in, retry_count, crashes, suspect, score, error, text FROM hk_ordered_waiting
WHERE queue = ?1 AND shard = ?2 AND in_flight = 0 AND (perform_in, id) <= (?3, ?4);

-- deleteFetched: deletes the same ids.
DELETE FROM hk_ordered_waiting
WHERE queue = ?1 AND shard = ?2 AND in_flight = 0 AND (perform_in, id) <= (?3, ?4);

-- page: returns ids from one on, with their shards.
SELECT json_group_array(json_array(id, shard, in_flight, format('%!.17g', perform_in), retry_count)) AS json
FROM (
  SELECT id, shard, in_flight, perform_in, retry_count FROM hk_ordered_waiting
  WHERE queue = ?1 AND id >= ?2 ORDER BY id LIMIT ?3
);

-- move: moves the ids of a JSON array to another shard.
UPDATE hk_ordered_waiting SET shard = ?2 WHERE queue = ?1 AND id IN (SELECT value FROM json_each(?3));

-- idUp: returns ids from one on, with fewer than ?3 retries.
SELECT json_group_array(id) AS json
FROM (SELECT id FROM hk_ordered_waiting WHERE queue = ?1 AND id >= ?2 AND retry_count < ?3 ORDER BY id LIMIT ?4);

-- idDown: returns ids before one, with fewer than ?3 retries.
SELECT json_group_array(id) AS json
FROM (SELECT id FROM hk_ordered_waiting WHERE queue = ?1 AND id < ?2 AND retry_count < ?3 ORDER BY id DESC LIMIT ?4);

-- retryUp: returns failed ids, from behind (retry_count, id) on.
SELECT json_group_array(id) AS json
FROM (
  SELECT id FROM hk_ordered_waiting
  WHERE queue = ?1 AND (retry_count < 0) = 0 AND (retry_count, id) > (?2, ?3) ORDER BY retry_count, id LIMIT ?4
);

-- retryDown: returns failed ids, from before (retry_count, id) on.
SELECT json_group_array(id) AS json
FROM (
  SELECT id FROM hk_ordered_waiting
  WHERE queue = ?1 AND (retry_count < 0) = 0 AND (retry_count, id) < (?2, ?3) ORDER BY retry_count DESC, id DESC LIMIT ?4
);

-- dueUp: returns ids of a shard, from behind (perform_in, id) on.
SELECT json_group_array(json_array(format('%!.17g', perform_in), id)) AS json
FROM (
  SELECT perform_in, id FROM hk_ordered_waiting
  WHERE queue = ?1 AND shard = ?2 AND in_flight = 0 AND (perform_in, id) > (?3, ?4) ORDER BY perform_in, id LIMIT ?5
);

-- dueDown: returns ids of a shard, from before (perform_in, id) on.
SELECT json_group_array(json_array(format('%!.17g', perform_in), id)) AS json
FROM (
  SELECT perform_in, id FROM hk_ordered_waiting
  WHERE queue = ?1 AND shard = ?2 AND in_flight = 0 AND (perform_in, id) < (?3, ?4)
  ORDER BY perform_in DESC, id DESC LIMIT ?5
);

-- inFlight: returns ids in flight that have waiting payloads.
SELECT json_group_array(json_array(format('%!.17g', w.perform_in), w.id)) AS json
FROM hk_ordered_in_flight AS f CROSS JOIN hk_ordered_waiting AS w ON w.queue = f.queue AND w.id = f.id WHERE f.queue = ?;

-- some: returns a row if any id waits.
SELECT 1 FROM hk_ordered_waiting WHERE queue = ? LIMIT 1;
