-- add: adds rows to a task.
INSERT INTO hk.task_row (task, idx, status, location, run, step, number, job, code, finished_at, args, source)
SELECT $1, * FROM unnest($2::bigint[], $3::smallint[], $4::smallint[], $5::integer[], $6::integer[], $7::bigint[], $8::text[], $9::text[],
  $10::bigint[], $11::text[], $12::text[]);

-- addBare: adds rows that have just arguments, from an index on.
INSERT INTO hk.task_row (task, idx, status, location, run, step, args)
SELECT $1, $2::bigint + n - 1, 0, 3, $3, 1, args FROM unnest($4::text[]) WITH ORDINALITY AS new (args, n);

-- addSingle: adds the only rows of tasks.
INSERT INTO hk.task_row (task, idx, status, location, run, step, args)
SELECT task, 0, 0, location, 1, 1, args FROM unnest($1::bigint[], $2::smallint[], $3::text[]) AS new (task, location, args);

-- begin: sets rows to `working` that are enqueued in this run before this step, and are not in the backlog. A row that was never
-- queued is in the backlog from its task's `next` on. Returns the rows that changed.
UPDATE hk.task_row AS event SET status = 1, step = new.step, code = NULL, finished_at = NULL, started_at = new.at
FROM unnest($1::bigint[], $2::bigint[], $3::integer[], $4::integer[], $5::bigint[], $6::bigint[])
  AS new (task, idx, run, step, at, next)
WHERE event.task = new.task AND event.idx = new.idx AND event.run = new.run AND event.status = 0 AND event.step = new.step - 1
  AND (event.location IN (1, 2) OR event.location = 3 AND event.idx < new.next)
RETURNING event.task, event.idx;

-- finish: sets rows to `finished` that wait for the attempt or are in it, and are not in the backlog. $9: whether the arguments
-- are dropped. Returns the rows that changed, with what they were before.
UPDATE hk.task_row AS event SET status = 2, location = 2, step = new.step, code = NULL,
  started_at = coalesce(new.started_at, event.started_at), finished_at = new.at, result = new.result,
  args = CASE WHEN new.is_dropped THEN NULL ELSE event.args END, source = CASE WHEN new.is_dropped THEN NULL ELSE event.source END
FROM unnest($1::bigint[], $2::bigint[], $3::integer[], $4::integer[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[], $9::boolean[])
  AS new (task, idx, run, step, at, next, started_at, result, is_dropped)
JOIN hk.task_row AS before ON before.task = new.task AND before.idx = new.idx
WHERE event.task = new.task AND event.idx = new.idx AND event.run = new.run
  AND (event.status = 0 AND event.step = new.step - 2 OR event.status = 1 AND event.step = new.step - 1)
  AND (event.location IN (1, 2) OR event.location = 3 AND event.idx < new.next)
RETURNING event.task, event.idx, before.status = 1 AS "wasWorking", before.location <> 2 AS "wasInWindow";

-- load: returns what decides whether effects apply, for rows of tasks.
SELECT task, idx, status, location, run, step, code, started_at, finished_at, result
FROM unnest($1::bigint[], $2::bigint[]) AS wanted (task, idx) JOIN hk.task_row USING (task, idx);

-- save: stores changed rows. $11: whether the arguments are dropped.
UPDATE hk.task_row AS event SET status = new.status, location = new.location, run = new.run, step = new.step, code = new.code,
  started_at = new.started_at, finished_at = new.finished_at, result = new.result,
  args = CASE WHEN new.is_dropped THEN NULL ELSE event.args END, source = CASE WHEN new.is_dropped THEN NULL ELSE event.source END
FROM unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::smallint[], $5::integer[], $6::integer[], $7::text[], $8::bigint[],
  $9::bigint[], $10::text[], $11::boolean[])
  AS new (task, idx, status, location, run, step, code, started_at, finished_at, result, is_dropped)
WHERE event.task = new.task AND event.idx = new.idx;

-- withArgs: returns those of the rows that have arguments. This and other statements look each row up on its own: given several
-- indexes, a plan reads all rows of the task when the statistics say that most tasks have few.
SELECT idx FROM unnest($2::bigint[]) AS wanted (idx)
WHERE (SELECT args IS NOT NULL FROM hk.task_row AS event WHERE event.task = $1 AND event.idx = wanted.idx);

-- correct: stores other arguments and another source for rows; NULL: unchanged.
UPDATE hk.task_row AS event SET args = coalesce(new.args, event.args), source = coalesce(new.source, event.source)
FROM unnest($2::bigint[], $3::text[], $4::text[]) AS new (idx, args, source) WHERE event.task = $1 AND event.idx = new.idx;

-- neverQueued: returns rows that were never in the queue, in order.
SELECT idx, run, args FROM hk.task_row WHERE task = $1 AND idx >= $2 AND location = 3 ORDER BY idx LIMIT $3;

-- open: returns enqueued and working rows among the next rows of a task.
SELECT idx, status FROM (SELECT idx, status FROM hk.task_row WHERE task = $1 AND idx >= $2 ORDER BY idx LIMIT $3) AS next
WHERE status < 2 ORDER BY idx LIMIT $4;

-- one: returns a row.
SELECT * FROM hk.task_row WHERE task = $1 AND idx = $2;

-- page: returns a page of rows.
SELECT * FROM hk.task_row WHERE task = $1 AND idx > $2 ORDER BY idx LIMIT $3;

-- messages: returns the messages of some rows, oldest first.
SELECT idx, n, at, code, params FROM unnest($2::bigint[]) AS wanted (idx) CROSS JOIN LATERAL (
  SELECT n, at, code, params FROM hk.message AS message WHERE message.task = $1 AND message.idx = wanted.idx OFFSET 0
) AS message ORDER BY idx, n;

-- rowOf: like each of the next statements, returns rows of the task with an id. The caller adds what else belongs to them.
SELECT * FROM hk.task_row WHERE task = (SELECT key FROM hk.task_record WHERE id = $1 AND deleting = 0) AND idx = $2;

-- those: returns some rows. Each index must be there once.
SELECT event.* FROM unnest($2::bigint[]) AS wanted (idx) CROSS JOIN LATERAL (
  SELECT * FROM hk.task_row AS event
  WHERE event.task = (SELECT key FROM hk.task_record WHERE id = $1 AND deleting = 0) AND event.idx = wanted.idx OFFSET 0
) AS event ORDER BY event.idx LIMIT $3;

-- pageAfter: returns a page of rows.
SELECT * FROM hk.task_row WHERE task = (SELECT key FROM hk.task_record WHERE id = $1 AND deleting = 0) AND idx > $2 ORDER BY idx LIMIT $3;

-- pageOf: returns a page of rows with some statuses. For rejected rows use rejectedOf, which has an index.
SELECT * FROM hk.task_row WHERE task = (SELECT key FROM hk.task_record WHERE id = $1 AND deleting = 0) AND idx > $2 AND status = ANY($4::smallint[])
ORDER BY idx LIMIT $3;

-- rejectedOf: returns a page of rows with some of the statuses failed (3), error (4) and cancelled (5).
SELECT event.* FROM unnest($4::smallint[]) AS wanted (status) CROSS JOIN LATERAL (
  SELECT * FROM hk.task_row AS event WHERE task = (SELECT key FROM hk.task_record WHERE id = $1 AND deleting = 0)
    AND rejected = wanted.status AND idx > $2 ORDER BY idx LIMIT $3
) AS event ORDER BY idx LIMIT $3;

-- codedOf: returns a page of rejected rows with a code, of some statuses.
SELECT * FROM hk.task_row WHERE task = (SELECT key FROM hk.task_record WHERE id = $1 AND deleting = 0) AND idx > $2
  AND rejected = ANY($4::smallint[]) AND rejected IS NOT NULL AND code = $5 ORDER BY idx LIMIT $3;

-- uncodedOf: returns a page of rejected rows without a code, of some statuses.
SELECT * FROM hk.task_row WHERE task = (SELECT key FROM hk.task_record WHERE id = $1 AND deleting = 0) AND idx > $2
  AND rejected = ANY($4::smallint[]) AND rejected IS NOT NULL AND code IS NULL ORDER BY idx LIMIT $3;

-- addMessages: see hk.add_messages.
SELECT hk.add_messages($1, $2, $3, $4, $5, $6, $7);

-- countReasons: adds to counts.
INSERT INTO hk.reason AS reason (task, status, code, count)
SELECT task, status, code, sum(count)
FROM unnest($1::bigint[], $2::smallint[], $3::text[], $4::bigint[]) AS new (task, status, code, count) GROUP BY task, status, code
ON CONFLICT (task, status, code) DO UPDATE SET count = reason.count + excluded.count;

-- dropReasons: deletes counts of zero.
DELETE FROM hk.reason WHERE task = ANY($1::bigint[]) AND count = 0;

-- reasons: returns the number of rows of each code.
SELECT status, code, count FROM hk.reason WHERE task = (SELECT key FROM hk.task_record WHERE id = $1 AND deleting = 0) ORDER BY status, code;
