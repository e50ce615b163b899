-- Ids are looked up one by one, in a subquery that OFFSET 0 or LIMIT 1 keeps apart, and changed where they were found. So no
-- plan reads all ids of a queue, whatever the statistics say of a table that had no rows a moment ago.

-- add: adds ids.
INSERT INTO hk.ordered_waiting
  (queue, id, shard, in_flight, perform_in, retry_count, crashes, suspect, size, score, error, text)
SELECT $1, * FROM unnest(
  $2::text[], $3::bigint[], $4::bigint[], $5::float8[], $6::float8[], $7::bigint[], $8::bigint[], $9::bigint[], $10::float8[],
  $11::text[], $12::text[]
);

-- addFresh: adds ids that wait from now on, which grows shards ($13 to $15: their numbers, by how many ids, and when the first
-- of these is due). Returns a row for each shard where no id was known to be due as early.
WITH added AS (
  INSERT INTO hk.ordered_waiting
    (queue, id, shard, in_flight, perform_in, retry_count, crashes, suspect, size, score, error, text)
  SELECT $1, * FROM unnest(
    $2::text[], $3::bigint[], $4::bigint[], $5::float8[], $6::float8[], $7::bigint[], $8::bigint[], $9::bigint[], $10::float8[],
    $11::text[], $12::text[]
  )
)
UPDATE hk.ordered_shard AS s SET fresh = s.fresh + c.n, next_due = least(before.next_due, c.next_due)
FROM unnest($13::bigint[], $14::bigint[], $15::bigint[]) AS c(shard, n, next_due)
JOIN hk.ordered_shard AS before ON before.queue = $1 AND before.shard = c.shard
WHERE s.queue = $1 AND s.shard = c.shard
RETURNING before.next_due IS NULL OR before.next_due > c.next_due AS "isEarlier";

-- change: stores ids. The payload of an id stays the same, or goes to its table.
UPDATE hk.ordered_waiting AS w SET shard = c.shard, in_flight = c.in_flight, perform_in = c.perform_in,
  retry_count = c.retry_count, crashes = c.crashes, suspect = c.suspect, size = c.size, score = c.score, error = c.error,
  text = CASE WHEN c.score IS NOT NULL THEN w.text END
FROM unnest(
  $2::text[], $3::bigint[], $4::bigint[], $5::float8[], $6::float8[], $7::bigint[], $8::bigint[], $9::bigint[], $10::float8[],
  $11::text[]
) AS c(id, shard, in_flight, perform_in, retry_count, crashes, suspect, size, score, error)
CROSS JOIN LATERAL (SELECT ctid FROM hk.ordered_waiting WHERE queue = $1 AND id = c.id OFFSET 0) AS found
WHERE w.ctid = found.ctid;

-- remove: deletes ids.
DELETE FROM hk.ordered_waiting AS w USING unnest($2::text[]) AS named(id)
CROSS JOIN LATERAL (SELECT ctid FROM hk.ordered_waiting WHERE queue = $1 AND id = named.id OFFSET 0) AS found
WHERE w.ctid = found.ctid;

-- find: returns those of these ids that wait, in this order.
SELECT w.id, shard, in_flight AS "inFlight", perform_in AS "performIn", retry_count AS "retryCount", crashes, suspect, size,
  score, error, text
FROM unnest($2::text[]) WITH ORDINALITY AS named(id, nth)
CROSS JOIN LATERAL (SELECT * FROM hk.ordered_waiting WHERE queue = $1 AND id = named.id OFFSET 0) AS w ORDER BY nth;

-- step: deletes ids in flight that have no waiting payloads and are not cancelled, each if it belongs to this fetch; and
-- returns the first ids of each shard by (perform_in, id), as many as are asked for. `nth`: the nth of a deleted id, which
-- has a row of its own.
WITH done AS (
  DELETE FROM hk.ordered_in_flight AS f
  USING unnest($2::text[], $3::bigint[], $4::bigint[]) WITH ORDINALITY AS named(id, shard, fetch_number, nth)
  CROSS JOIN LATERAL (
    SELECT ctid FROM hk.ordered_in_flight
    WHERE queue = $1 AND id = named.id AND shard = named.shard AND fetch_number = named.fetch_number
    AND has_waiting = 0 AND cancelled = 0 OFFSET 0
  ) AS found
  WHERE f.ctid = found.ctid RETURNING nth
)
SELECT NULL AS nth, due.* FROM unnest($5::bigint[], $6::bigint[]) AS asked(shard, most) CROSS JOIN LATERAL (
  SELECT shard, id, perform_in AS "performIn", size, score, octet_length(text) AS bytes, retry_count AS "retryCount", crashes,
    suspect, error
  FROM hk.ordered_waiting WHERE queue = $1 AND shard = asked.shard AND in_flight = 0
  ORDER BY perform_in, id LIMIT asked.most
) AS due
UNION ALL SELECT nth, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM done;

-- fetch: puts ids that have one payload in flight, and returns the payloads; stores shards as `changeShards` does.
WITH fetched AS (
  DELETE FROM hk.ordered_waiting AS w USING unnest($2::text[], $3::bigint[]) AS named(id, fetch_number)
  CROSS JOIN LATERAL (SELECT ctid FROM hk.ordered_waiting WHERE queue = $1 AND id = named.id OFFSET 0) AS found
  WHERE w.ctid = found.ctid RETURNING w.*, named.fetch_number
),
changed AS (
  UPDATE hk.ordered_shard AS s SET owner = c.owner, token = c.token, busy = c.busy, fresh = c.fresh, retries = c.retries,
    processed = c.processed, failed = c.failed, fetch_number = c.fetch_number, alone = c.alone, next_due = c.next_due,
    died = c.died
  FROM unnest(
    $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[],
    $13::bigint[], $14::bigint[], $15::bigint[], $16::text[]
  ) AS c(shard, owner, token, busy, fresh, retries, processed, failed, fetch_number, alone, next_due, died)
  WHERE s.queue = $1 AND s.shard = c.shard
)
INSERT INTO hk.ordered_in_flight
  (queue, id, shard, fetch_number, fetched_at, perform_in, retry_count, crashes, suspect, score, error, text)
SELECT queue, id, shard, fetch_number, $4::bigint, perform_in, retry_count, crashes, suspect, score, error, text FROM fetched
RETURNING id, text;

-- page: returns ids behind (queue, id), with their shards.
SELECT id, shard, in_flight AS "inFlight", perform_in AS "performIn", retry_count AS "retryCount" FROM hk.ordered_waiting
WHERE queue = $1 AND (queue, id) > ($2, $3) ORDER BY queue, id LIMIT $4;

-- move: moves ids to other shards.
UPDATE hk.ordered_waiting AS w SET shard = named.shard FROM unnest($2::text[], $3::bigint[]) AS named(id, shard)
CROSS JOIN LATERAL (SELECT ctid FROM hk.ordered_waiting WHERE queue = $1 AND id = named.id OFFSET 0) AS found
WHERE w.ctid = found.ctid;

-- idUp: returns ids behind (queue, id), with fewer than $4 retries.
SELECT id FROM hk.ordered_waiting
WHERE queue = $1 AND (queue, id) > ($2, $3) AND retry_count < $4 ORDER BY queue, id LIMIT $5;

-- idDown: returns ids before (queue, id), with fewer than $4 retries.
SELECT id FROM hk.ordered_waiting
WHERE queue = $1 AND (queue, id) < ($2, $3) AND retry_count < $4 ORDER BY queue DESC, id DESC LIMIT $5;

-- retryUp: returns failed ids, from behind (retry_count, id) on.
SELECT id FROM hk.ordered_waiting
WHERE queue = $1 AND retry_count >= 0 AND (retry_count, id) > ($2, $3) ORDER BY retry_count, id LIMIT $4;

-- retryDown: returns failed ids, from before (retry_count, id) on.
SELECT id FROM hk.ordered_waiting
WHERE queue = $1 AND retry_count >= 0 AND (retry_count, id) < ($2, $3) ORDER BY retry_count DESC, id DESC LIMIT $4;

-- dueUp: returns the first $5 ids of each shard below $2, from behind (perform_in, id) on.
SELECT due.* FROM generate_series(0, $2::bigint - 1) AS asked(shard) CROSS JOIN LATERAL (
  SELECT perform_in AS "performIn", id FROM hk.ordered_waiting
  WHERE queue = $1 AND shard = asked.shard AND in_flight = 0 AND (perform_in, id) > ($3, $4) ORDER BY perform_in, id LIMIT $5
) AS due;

-- dueDown: returns the last $5 ids of each shard below $2, from before (perform_in, id) on.
SELECT due.* FROM generate_series(0, $2::bigint - 1) AS asked(shard) CROSS JOIN LATERAL (
  SELECT perform_in AS "performIn", id FROM hk.ordered_waiting
  WHERE queue = $1 AND shard = asked.shard AND in_flight = 0 AND (perform_in, id) < ($3, $4)
  ORDER BY perform_in DESC, id DESC LIMIT $5
) AS due;

-- inFlight: returns ids in flight that have waiting payloads.
SELECT w.perform_in AS "performIn", w.id
FROM hk.ordered_in_flight AS f JOIN hk.ordered_waiting AS w ON w.queue = f.queue AND w.id = f.id WHERE f.queue = $1;

-- some: returns a row if any id waits.
SELECT 1 FROM hk.ordered_waiting WHERE queue = $1 LIMIT 1;
