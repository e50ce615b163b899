-- recordBatch: stores that a batch is recorded. No row: it, or a later one, was recorded before.
INSERT INTO hk_metric_source (source, number, at) VALUES (?, ?, ?)
ON CONFLICT (source) DO UPDATE SET number = excluded.number, at = excluded.at WHERE hk_metric_source.number < excluded.number
RETURNING number;

-- add: adds to the sums of a class in a span.
INSERT INTO hk_metric (span, at, name, processed, failed, ms) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (span, at, name) DO UPDATE SET
  processed = processed + excluded.processed, failed = failed + excluded.failed, ms = ms + excluded.ms;

-- count: adds to one bucket of a histogram, up to a limit.
INSERT INTO hk_histogram (span, at, name, bucket, count) VALUES (?1, ?2, ?3, ?4, min(?5, ?6))
ON CONFLICT (span, at, name, bucket) DO UPDATE SET count = min(count + excluded.count, ?6);

-- wait: returns the waits of a queue in a minute.
SELECT ms, histogram FROM hk_wait_time WHERE at = ? AND queue = ?;

-- putWait: stores the waits of a queue in a minute.
INSERT OR REPLACE INTO hk_wait_time (at, queue, ms, histogram) VALUES (?, ?, ?, ?);

-- waits: returns the waits of minutes.
SELECT at, queue, ms, histogram FROM hk_wait_time
WHERE at IN (SELECT value FROM json_each(?)) ORDER BY at, queue;

-- waitsOfQueue: returns the waits of minutes in one queue.
SELECT at, queue, ms, histogram FROM hk_wait_time
WHERE at IN (SELECT value FROM json_each(?)) AND queue = ? ORDER BY at;

-- deleteOldWaits: deletes old waits.
DELETE FROM hk_wait_time WHERE at < ?;

-- deleteOldSums: deletes old spans of a length.
DELETE FROM hk_metric WHERE span = ? AND at < ?;

-- deleteOldHistograms: deletes old histograms of a span.
DELETE FROM hk_histogram WHERE span = ? AND at < ?;

-- deleteOldSources: deletes processes that have recorded nothing for long.
DELETE FROM hk_metric_source WHERE at < ?;

-- sums: returns the sums of spans, of all classes or of one.
SELECT at, name, processed, failed, ms FROM hk_metric
WHERE span = ?1 AND at IN (SELECT value FROM json_each(?2)) AND (?3 IS NULL OR name = ?3) ORDER BY at, name;

-- histograms: returns the buckets of a class that are not empty.
SELECT at, bucket, count FROM hk_histogram
WHERE span = ? AND at IN (SELECT value FROM json_each(?)) AND name = ? ORDER BY at, bucket;

-- recordDeploy: stores a deploy, unless its minute has one or its label was recorded a moment ago.
INSERT INTO hk_deploy (at, label, recorded_at)
SELECT ?1, ?2, ?3 WHERE NOT EXISTS (SELECT 1 FROM hk_deploy WHERE label = ?2 AND recorded_at > ?4)
ON CONFLICT DO NOTHING RETURNING at;

-- deploys: returns the deploys of a day.
SELECT at, label FROM hk_deploy WHERE at >= ? AND at < ? ORDER BY at;

-- deleteOldDeploys: deletes old deploys.
DELETE FROM hk_deploy WHERE at < ?;

-- recordSnapshot: stores the figures of a span. No row: it has some.
INSERT INTO hk_snapshot (span, at, text) VALUES (?, ?, ?) ON CONFLICT DO NOTHING RETURNING at;

-- snapshots: returns the figures of spans.
SELECT at, text FROM hk_snapshot WHERE span = ? AND at IN (SELECT value FROM json_each(?)) ORDER BY at;

-- deleteOldSnapshots: deletes old figures of a span.
DELETE FROM hk_snapshot WHERE span = ? AND at < ?;

-- recordQueueSizes: stores the sizes of queues in a span. No row: it has some.
INSERT INTO hk_queue_sizes (span, at, text) VALUES (?, ?, ?) ON CONFLICT DO NOTHING RETURNING at;

-- queueSizes: returns the sizes of queues in spans.
SELECT at, text FROM hk_queue_sizes WHERE span = ? AND at IN (SELECT value FROM json_each(?)) ORDER BY at;

-- deleteOldQueueSizes: deletes old sizes of queues.
DELETE FROM hk_queue_sizes WHERE span = ? AND at < ?;
