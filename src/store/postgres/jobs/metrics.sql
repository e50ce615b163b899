-- recordBatch: stores that a batch is recorded. No row: it, or a later one, was recorded before.
INSERT INTO hk.metric_source AS s (source, number, at) VALUES ($1, $2, $3)
ON CONFLICT (source) DO UPDATE SET number = excluded.number, at = excluded.at WHERE s.number < excluded.number
RETURNING number;

-- add: adds to the sums of classes ($3 to $6) in spans ($1, which begin at $2).
INSERT INTO hk.metric AS m (span, at, name, processed, failed, ms)
SELECT s.span, s.at, j.name, sum(j.processed), sum(j.failed), sum(j.ms)
FROM unnest($1::bigint[], $2::bigint[]) AS s(span, at),
  unnest($3::text[], $4::bigint[], $5::bigint[], $6::bigint[]) AS j(name, processed, failed, ms)
GROUP BY s.span, s.at, j.name
ON CONFLICT (span, at, name) DO UPDATE SET
  processed = m.processed + excluded.processed, failed = m.failed + excluded.failed, ms = m.ms + excluded.ms;

-- count: adds to buckets ($3 to $5) of histograms in spans ($1, which begin at $2); in minutes up to $6.
INSERT INTO hk.histogram AS h (span, at, name, bucket, count)
SELECT s.span, s.at, j.name, j.bucket, CASE WHEN s.span = 1 THEN least(sum(j.count), $6::bigint) ELSE sum(j.count) END
FROM unnest($1::bigint[], $2::bigint[]) AS s(span, at), unnest($3::text[], $4::bigint[], $5::bigint[]) AS j(name, bucket, count)
GROUP BY s.span, s.at, j.name, j.bucket
ON CONFLICT (span, at, name, bucket) DO UPDATE SET
  count = CASE WHEN h.span = 1 THEN least(h.count + excluded.count, $6::bigint) ELSE h.count + excluded.count END;

-- waitsOfMinute: returns the waits of queues in a minute.
SELECT queue, ms, histogram FROM hk.wait_time WHERE at = $1 AND queue = ANY($2::text[]);

-- putWaits: stores the waits of queues in a minute.
INSERT INTO hk.wait_time (at, queue, ms, histogram) SELECT $1, n.* FROM unnest($2::text[], $3::bigint[], $4::text[]) AS n
ON CONFLICT (at, queue) DO UPDATE SET ms = excluded.ms, histogram = excluded.histogram;

-- waits: returns the waits of minutes, in all queues or in one.
SELECT at, queue, ms, histogram FROM hk.wait_time
WHERE at = ANY($1::bigint[]) AND ($2::text IS NULL OR queue = $2) ORDER BY at, queue;

-- deleteOld: deletes what belongs to minutes before $1 and to ten minutes before $2, and processes that have recorded nothing since $1.
WITH sums AS (
  DELETE FROM hk.metric WHERE (span = 1 AND at < $1) OR (span = 10 AND at < $2)
), histograms AS (
  DELETE FROM hk.histogram WHERE (span = 1 AND at < $1) OR (span = 10 AND at < $2)
), waits AS (
  DELETE FROM hk.wait_time WHERE at < $1
)
DELETE FROM hk.metric_source WHERE at < $1;

-- sums: returns the sums of spans, of all classes or of one.
SELECT at, name, processed, failed, ms FROM hk.metric
WHERE span = $1 AND at = ANY($2::bigint[]) AND ($3::text IS NULL OR name = $3) ORDER BY at, name;

-- histograms: returns the buckets of classes ($2) at times ($3) that are not empty.
SELECT name, at, bucket, count FROM unnest($2::text[], $3::bigint[]) WITH ORDINALITY AS wanted(name, at, n)
JOIN hk.histogram AS histogram USING (name, at) WHERE span = $1 ORDER BY n, bucket;

-- recordDeploy: stores a deploy, unless its minute has one or its label was recorded since $4. Deletes deploys before $5.
WITH old AS (
  DELETE FROM hk.deploy WHERE at < $5 AND at <> $1
)
INSERT INTO hk.deploy (at, label, recorded_at)
SELECT $1, $2, $3 WHERE NOT EXISTS (SELECT 1 FROM hk.deploy WHERE label = $2 AND recorded_at > $4)
ON CONFLICT DO NOTHING RETURNING at;

-- deploys: returns the deploys of days, which begin at $1 and have $2 milliseconds.
SELECT at, label FROM hk.deploy, unnest($1::bigint[]) AS day(begins)
WHERE at >= day.begins AND at < day.begins + $2 ORDER BY at;

-- recordSnapshot: stores the figures of spans ($1, which begin at $2) that have none, and deletes those before $3. Returns the
-- spans that had none.
WITH n AS (
  SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS n(span, at, since)
), old AS (
  DELETE FROM hk.snapshot AS s USING n WHERE s.span = n.span AND s.at < n.since
)
INSERT INTO hk.snapshot (span, at, text) SELECT span, at, $4 FROM n ON CONFLICT DO NOTHING RETURNING span;

-- snapshots: returns the figures of spans.
SELECT at, text FROM hk.snapshot WHERE span = $1 AND at = ANY($2::bigint[]) ORDER BY at;

-- recordQueueSizes: stores the sizes of queues in a span that has none, and deletes those of spans before $4.
WITH old AS (
  DELETE FROM hk.queue_sizes WHERE span = $1 AND at < $4
)
INSERT INTO hk.queue_sizes (span, at, text) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING;

-- queueSizes: returns the sizes of queues in spans.
SELECT at, text FROM hk.queue_sizes WHERE span = $1 AND at = ANY($2::bigint[]) ORDER BY at;
