-- Ids are looked up one by one: see waiting.sql.

-- add: puts ids in flight that have several payloads.
INSERT INTO hk.ordered_in_flight
  (queue, fetched_at, id, shard, fetch_number, has_waiting, perform_in, retry_count, crashes, suspect, error, text)
SELECT $1, $2, * FROM unnest(
  $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::float8[], $8::float8[], $9::bigint[], $10::bigint[], $11::text[],
  $12::text[]
);

-- among: returns those of these ids that are in flight.
SELECT f.id FROM unnest($2::text[]) AS named(id)
CROSS JOIN LATERAL (SELECT id FROM hk.ordered_in_flight WHERE queue = $1 AND id = named.id OFFSET 0) AS f;

-- find: returns those of these ids that are in flight; the first $3 with their payloads.
SELECT f.id, f.shard, fetch_number AS "fetchNumber", cancelled = 1 AS cancelled, w.one IS NOT NULL AS waits,
  f.perform_in AS "performIn", f.retry_count AS "retryCount", f.crashes, f.suspect, f.error, f.score,
  CASE WHEN nth <= $3 THEN f.text END AS text
FROM unnest($2::text[]) WITH ORDINALITY AS named(id, nth)
CROSS JOIN LATERAL (SELECT * FROM hk.ordered_in_flight WHERE queue = $1 AND id = named.id OFFSET 0) AS f
LEFT JOIN LATERAL (SELECT 1 AS one FROM hk.ordered_waiting WHERE queue = $1 AND id = named.id LIMIT 1) AS w ON true;

-- ofShard: returns the ids of a shard that are in flight.
SELECT id FROM hk.ordered_in_flight WHERE queue = $1 AND shard = $2;

-- remove: deletes ids.
DELETE FROM hk.ordered_in_flight AS f USING unnest($2::text[]) AS named(id)
CROSS JOIN LATERAL (SELECT ctid FROM hk.ordered_in_flight WHERE queue = $1 AND id = named.id OFFSET 0) AS found
WHERE f.ctid = found.ctid;

-- noteWaiting: stores that ids have waiting payloads.
UPDATE hk.ordered_in_flight AS f SET has_waiting = 1 FROM unnest($2::text[]) AS named(id)
CROSS JOIN LATERAL (SELECT ctid FROM hk.ordered_in_flight WHERE queue = $1 AND id = named.id OFFSET 0) AS found
WHERE f.ctid = found.ctid;

-- cancel: stores that ids are cancelled.
UPDATE hk.ordered_in_flight AS f SET cancelled = 1 FROM unnest($2::text[]) AS named(id)
CROSS JOIN LATERAL (SELECT ctid FROM hk.ordered_in_flight WHERE queue = $1 AND id = named.id OFFSET 0) AS found
WHERE f.ctid = found.ctid;

-- cancelled: returns the cancelled ids of an owner.
SELECT f.id, f.shard, f.fetch_number AS "fetchNumber"
FROM hk.ordered_in_flight AS f JOIN hk.ordered_shard AS s ON s.queue = f.queue AND s.shard = f.shard
WHERE f.queue = $1 AND cancelled = 1 AND owner = $2;

-- list: returns the ids in flight, in order: of the owner $2 or of all, and all of them or the id $3.
SELECT f.id, f.shard, f.fetch_number AS "fetchNumber", token, owner.name AS owner, fetched_at AS "fetchedAt"
FROM hk.ordered_in_flight AS f JOIN hk.ordered_shard AS s ON s.queue = f.queue AND s.shard = f.shard
LEFT JOIN hk.owner AS owner ON owner.id = s.owner
WHERE f.queue = $1 AND ($2::text IS NULL OR owner.name = $2) AND ($3::text IS NULL OR f.id = $3) ORDER BY f.id;
