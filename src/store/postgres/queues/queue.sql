-- create: creates a queue if it does not exist.
INSERT INTO hk.queue (name) VALUES ($1) ON CONFLICT DO NOTHING;

-- show: creates a queue if it does not exist, and lists it again if it is hidden.
INSERT INTO hk.queue (name) VALUES ($1) ON CONFLICT (name) DO UPDATE SET cleared = 0;

-- putBack: stores jobs at the back of a queue, in order; $3 is subtracted from their positions. No row: the queue is new.
WITH grown AS (UPDATE hk.queue SET size = size + cardinality($2::text[]), cleared = 0 WHERE name = $1 RETURNING id)
INSERT INTO hk.ready (queue, position, text)
SELECT grown.id, nextval('hk.back_position') - $3::bigint, text
FROM grown CROSS JOIN unnest($2::text[]) WITH ORDINALITY AS jobs (text, n) ORDER BY n;

-- putFront: stores jobs at the front of a queue, each before the one before; $3 is subtracted from their positions. No row: the queue is new.
WITH grown AS (UPDATE hk.queue SET size = size + cardinality($2::text[]), cleared = 0 WHERE name = $1 RETURNING id)
INSERT INTO hk.ready (queue, position, text)
SELECT grown.id, -nextval('hk.front_position') - $3::bigint, text
FROM grown CROSS JOIN unnest($2::text[]) WITH ORDINALITY AS jobs (text, n) ORDER BY n;

-- hasJobs: returns a row if one of the queues has a job and is not paused.
SELECT 1 FROM hk.queue AS queue WHERE name = ANY($1::text[]) AND NOT EXISTS (SELECT 1 FROM hk.paused WHERE hk.paused.queue = name)
AND (EXISTS (SELECT 1 FROM hk.ready AS ready WHERE ready.queue = queue.id) OR EXISTS (SELECT 1 FROM hk.pack AS pack WHERE pack.queue = queue.id))
LIMIT 1;

-- pushPlain: see hk.push_packs.
SELECT hk.push_packs($1, $2, $3, $4, $5) AS pushed;

-- pushPlainAndNotify: the same, and a notification at its commit.
SELECT hk.push_packs($1, $2, $3, $4, $5) AS pushed, pg_notify($6, $7);

-- unpackNext: see hk.unpack_next. Run it before `fetch`, in its transaction.
SELECT hk.unpack_next($1, $2) AS "firstJobs";

-- unpack: see hk.unpack. Run it before jobs between two positions are changed, in the same transaction.
SELECT hk.unpack($1, $2, $3);

-- unpackAt: does the same for the jobs at these positions.
SELECT hk.unpack($1, position, position) FROM unnest($2::bigint[]) AS position;

-- stepPlain: see hk.step_plain_2.
SELECT kind, queue_id AS "queueId", at_position AS position, queue_name AS queue, job AS text
FROM hk.step_plain_2($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12);

-- stepRows: see hk.step_rows.
SELECT kind, queue_id AS "queueId", at_position AS position, queue_name AS queue, job AS text
FROM hk.step_rows($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33);

-- sumChanges: see hk.sum_changes.
SELECT hk.sum_changes($1);

-- length: returns the number of jobs of a queue, with those that wait for room in their limits.
SELECT size + limited AS size FROM hk.queue_now WHERE name = $1;

-- countLimited: changes the number of a queue's jobs that wait for room in their limits. No change: the queue is new.
UPDATE hk.queue SET limited = greatest(limited + $2, 0) WHERE name = $1;

-- fetch: moves at most $3 jobs of the queues, in their order, to an owner, whose fetch has the number $4. $5: what `unpackNext`
-- returned. A row is deleted where it was found, because a plan that joins the table again would read all of it while its statistics
-- are old.
WITH wanted AS (
  SELECT queue.id, n, coalesce(first_job, -9000000000000000) AS first_job
  FROM unnest($2::text[], $5::bigint[]) WITH ORDINALITY AS names (name, first_job, n) JOIN hk.queue AS queue USING (name)
  WHERE NOT EXISTS (SELECT 1 FROM hk.paused AS paused WHERE paused.queue = name) ORDER BY n
), found AS (
  SELECT next.row_id FROM wanted CROSS JOIN LATERAL (
    SELECT ready.ctid AS row_id FROM hk.ready AS ready WHERE ready.queue = wanted.id AND ready.position >= wanted.first_job
    ORDER BY position LIMIT $3 FOR UPDATE SKIP LOCKED
  ) AS next LIMIT $3
), fetched_jobs AS (
  DELETE FROM hk.ready WHERE ctid = ANY (ARRAY(SELECT row_id FROM found)) RETURNING queue, position, text
), owned AS (
  INSERT INTO hk.fetched (owner, queue, position, fetch_number, text) SELECT $1, queue, position, $4::bigint, text FROM fetched_jobs
), sizes AS (
  UPDATE hk.queue AS queue SET size = size - jobs FROM (SELECT queue, count(*) AS jobs FROM fetched_jobs GROUP BY queue) AS counted
  WHERE queue.id = counted.queue RETURNING queue.id, queue.name
)
SELECT sizes.name AS queue, fetched_jobs.queue AS "queueId", position, text FROM fetched_jobs JOIN sizes ON sizes.id = fetched_jobs.queue
JOIN wanted ON wanted.id = fetched_jobs.queue ORDER BY n, position;

-- shrink: reduces the size of a queue.
UPDATE hk.queue SET size = size - $1 WHERE id = $2;

-- list: returns all queues with their sizes and next jobs.
SELECT name, size, limited, (SELECT job FROM hk.oldest_jobs(queue.id, 1)) AS next
FROM hk.queue_now AS queue WHERE cleared = 0 OR size > 0 ORDER BY name;

-- those: returns queues with their sizes and next jobs.
SELECT name, size, limited, (SELECT job FROM hk.oldest_jobs(queue.id, 1)) AS next
FROM hk.queue_now AS queue WHERE name = ANY($1::text[]);

-- heads: returns the next job of each priority of the queues that have jobs with a priority. $1 is 2^48.
SELECT name, head.job AS text FROM hk.queue AS queue CROSS JOIN generate_series(0, 9) AS priority
CROSS JOIN LATERAL hk.oldest_jobs(
  queue.id, 1, -$1::bigint * priority - $1::bigint / 2, -$1::bigint * priority + $1::bigint / 2 + 1
) AS head
WHERE EXISTS (SELECT 1 FROM hk.oldest_jobs(queue.id, 1, high => -$1::bigint / 2));

-- peek: returns a page of jobs, next to be fetched first.
SELECT job AS text FROM hk.queue AS queue
CROSS JOIN LATERAL hk.oldest_jobs(queue.id, $2::bigint + $3::bigint) AS jobs
WHERE queue.name = $1 ORDER BY at_position LIMIT $2 OFFSET $3;

-- id: returns the id of a queue, whether it has jobs or not, and a position behind all of its jobs.
SELECT id, 9000000000000000 AS tail FROM hk.queue WHERE name = $1;

-- newest: returns positions and sizes of the jobs before a position, newest first.
SELECT at_position AS position, octet_length(job) AS bytes FROM hk.newest_jobs($1, $3, high => $2);

-- oldest: returns positions and sizes of the jobs after a position, in the order in which they are fetched.
SELECT at_position AS position, octet_length(job) AS bytes FROM hk.oldest_jobs($1, $3, low => $2);

-- searchOldest: returns jobs between two positions (the first one excluded) that contain a text, in the order in which they
-- are fetched.
SELECT at_position AS position, job AS text FROM hk.oldest_jobs($1, NULL, $2, $3::bigint + 1)
WHERE strpos(job, $4) > 0 ORDER BY at_position LIMIT $5;

-- search: returns jobs between two positions (the second one excluded) that contain a text, newest first.
SELECT at_position AS position, job AS text FROM hk.newest_jobs($1, NULL, $2::bigint - 1, $3)
WHERE strpos(job, $4) > 0 ORDER BY at_position DESC LIMIT $5;

-- whereIs: returns those of the texts that are between two positions (the second one excluded).
SELECT at_position AS position, job AS text FROM hk.newest_jobs($1, NULL, $2::bigint - 1, $3)
WHERE job = ANY($4::text[]) ORDER BY at_position DESC;

-- replace: gives a job that is not packed another text.
UPDATE hk.ready SET text = $1 WHERE queue = $2 AND position = $3 AND text = $4;

-- clearPacks: deletes the packs before a position, and returns how many jobs they had.
WITH gone AS (DELETE FROM hk.pack WHERE queue = $1 AND position < $2::bigint - 7 RETURNING text)
SELECT coalesce(sum(cardinality(string_to_array(text, E'\n'))), 0)::bigint AS jobs FROM gone;

-- clearTo: deletes the jobs up to a position that contain none of the texts. None of them may be packed.
DELETE FROM hk.ready WHERE queue = $1 AND position <= $2
AND NOT EXISTS (SELECT 1 FROM unnest($3::text[]) AS needle WHERE strpos(ready.text, needle) > 0);

-- leftTo: returns the jobs up to a position, in order. None of them may be packed.
SELECT position, text FROM hk.ready WHERE queue = $1 AND position <= $2 ORDER BY position;

-- positions: returns positions and sizes of the next jobs, in order.
SELECT at_position AS position, octet_length(job) AS bytes FROM hk.oldest_jobs($1, $2);

-- hide: stops listing a queue if it is empty.
UPDATE hk.queue SET cleared = 1 WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM hk.ready AS ready WHERE ready.queue = $1)
AND NOT EXISTS (SELECT 1 FROM hk.pack AS pack WHERE pack.queue = $1);

-- pause: pauses a queue.
INSERT INTO hk.paused (queue) VALUES ($1) ON CONFLICT DO NOTHING;

-- resume: resumes a queue.
DELETE FROM hk.paused WHERE queue = $1;

-- paused: returns the names of the paused queues.
SELECT queue FROM hk.paused ORDER BY queue;

-- deleteOldPushes: deletes at most 1,000 ids of pushes with `once` that are older than $1 ms, the oldest first.
DELETE FROM hk.pushed_once WHERE jid IN (SELECT jid FROM hk.pushed_once WHERE at < (SELECT hk.micros() / 1000 - $1::bigint) ORDER BY at LIMIT 1000);

-- rememberPushes: stores the ids of pushes with `once`, and returns those that were not stored in the last $2 ms.
INSERT INTO hk.pushed_once AS pushed (jid, at) SELECT jid, hk.micros() / 1000 FROM (SELECT DISTINCT jid FROM unnest($1::text[]) AS jid) AS jids
ON CONFLICT (jid) DO UPDATE SET at = excluded.at WHERE pushed.at < excluded.at - $2::bigint RETURNING jid;

-- forgetPush: deletes the id of a push with `once` that was refused.
DELETE FROM hk.pushed_once WHERE jid = $1;
