-- create: creates tasks; $20 to $23: the number of rows of each, how many are in the window, the state, and the due time.
-- Returns the tasks whose ids were free.
INSERT INTO hk.task_record (id, name, job, queue, template, window_size, keep_args, meta, created_at, max_failures,
  on_max_failures, on_done, on_failure, keep, lost_after, single, producers, producer, rows_per_job,
  total, next, enqueued, in_window, state, due_at)
SELECT id, name, job, queue, template, window_size, keep_args, meta, created_at, max_failures,
  on_max_failures, on_done, on_failure, keep, lost_after, single, producers, producer, rows_per_job,
  total, total, total, in_window, state, due_at
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::text[], $9::bigint[],
  $10::text[], $11::text[], $12::text[], $13::text[], $14::bigint[], $15::bigint[], $16::smallint[], $17::integer[], $18::text[],
  $19::bigint[], $20::bigint[], $21::bigint[], $22::text[], $23::bigint[])
  AS new (id, name, job, queue, template, window_size, keep_args, meta, created_at, max_failures, on_max_failures, on_done,
  on_failure, keep, lost_after, single, producers, producer, rows_per_job, total, in_window, state, due_at)
ON CONFLICT DO NOTHING RETURNING key, id;

-- load: returns a task.
SELECT * FROM hk.task_record WHERE id = $1 AND deleting = 0;

-- loadAll: returns tasks.
SELECT * FROM hk.task_record WHERE id = ANY($1::text[]) AND deleting = 0;

-- save: stores what changes with the rows of tasks.
UPDATE hk.task_record AS task SET state = new.state, total = new.total, next = new.next, backlog = new.backlog,
  in_window = new.in_window, enqueued = new.enqueued, working = new.working, finished = new.finished, failed = new.failed,
  error = new.error, cancelled = new.cancelled, progress_at = new.progress_at, finished_at = new.finished_at,
  expires_at = new.expires_at
FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
  $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[])
  AS new (key, state, total, next, backlog, in_window, enqueued, working, finished, failed, error, cancelled, progress_at,
  finished_at, expires_at)
WHERE task.key = new.key;

-- saveTerms: stores what changes more rarely.
UPDATE hk.task_record AS task SET name = new.name, window_size = new.window_size, max_failures = new.max_failures,
  on_max_failures = new.on_max_failures, paused = new.paused, reason = new.reason, producer = new.producer,
  producers = new.producers, broken = new.broken, last_row = new.last_row, run = new.run, run_at = new.run_at,
  ended_before = new.ended_before, mixed = new.mixed, done_run = new.done_run, failed_run = new.failed_run,
  cancel_from = new.cancel_from, deferred = new.deferred
FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::smallint[], $7::text[], $8::text[],
  $9::integer[], $10::integer[], $11::text[], $12::bigint[], $13::bigint[], $14::bigint[], $15::smallint[], $16::bigint[],
  $17::bigint[], $18::bigint[], $19::bigint[])
  AS new (key, name, window_size, max_failures, on_max_failures, paused, reason, producer, producers, broken, last_row, run,
  run_at, ended_before, mixed, done_run, failed_run, cancel_from, deferred)
WHERE task.key = new.key;

-- revokeLinks: ends all links of a task.
UPDATE hk.task_record SET link_version = link_version + 1 WHERE id = $1 AND deleting = 0;

-- newest: returns a page of tasks, newest first.
SELECT * FROM hk.task_record WHERE single = 0 AND deleting = 0 ORDER BY created_at DESC, id DESC LIMIT $1;

-- older: returns the next page of tasks.
SELECT * FROM hk.task_record WHERE single = 0 AND deleting = 0 AND (created_at, id) < ($1, $2)
ORDER BY created_at DESC, id DESC LIMIT $3;

-- addLabels: stores labels of new tasks, by the tasks' ids.
INSERT INTO hk.task_label (name, value, created_at, id, task)
SELECT label.name, label.value, task.created_at, task.id, task.key
FROM unnest($1::text[], $2::text[], $3::text[]) AS label (id, name, value) JOIN hk.task_record AS task ON task.id = label.id;

-- dropLabels: deletes the labels of a task.
DELETE FROM hk.task_label WHERE task = $1;

-- newestOf: returns a page of tasks with a label, newest first.
SELECT task.* FROM hk.task_label AS label JOIN hk.task_record AS task ON task.key = label.task
WHERE label.name = $1 AND label.value = $2 AND deleting = 0 ORDER BY label.created_at DESC, label.id DESC LIMIT $3;

-- olderOf: returns the next page of tasks with a label.
SELECT task.* FROM hk.task_label AS label JOIN hk.task_record AS task ON task.key = label.task
WHERE label.name = $1 AND label.value = $2 AND deleting = 0 AND (label.created_at, label.id) < ($3, $4)
ORDER BY label.created_at DESC, label.id DESC LIMIT $5;

-- cancelling: lists tasks that are being cancelled, behind a key.
SELECT id, key FROM hk.task_record WHERE state = 'cancelling' AND deleting = 0 AND key > $1 ORDER BY key LIMIT $2;

-- openFrom: counts the first tasks with open rows behind a key, at most $2, and returns the last of their keys.
SELECT count(*) AS n, max(key) AS last FROM (
  SELECT key FROM hk.task_record WHERE is_open AND key > $1 ORDER BY key LIMIT $2
) AS open;

-- idle: lists tasks between two keys (the first one excluded) with open rows and no progress since a time.
SELECT * FROM hk.task_record
WHERE is_open AND key > $1 AND key <= $2
  AND deleting = 0 AND state <> 'cancelling' AND coalesce(progress_at, due_at, created_at) < $3
ORDER BY key;

-- ahead: lists such tasks whose progress, or else creation, is after a time. Scheduled single jobs without progress are left out.
SELECT * FROM hk.task_record
WHERE is_open AND key > $1 AND key <= $2
  AND deleting = 0 AND state <> 'cancelling' AND coalesce(progress_at, CASE WHEN due_at IS NULL THEN created_at END) > $3
ORDER BY key;

-- expired: returns ended tasks whose retention time is over, and tasks that are partly deleted.
SELECT id FROM hk.task_record WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2;

-- startDeleting: makes a task invisible and empties its backlog.
UPDATE hk.task_record SET deleting = 1, backlog = 0, expires_at = -1 WHERE id = $1 AND moving < 2 RETURNING key;

-- dropRows: deletes some rows of a task.
DELETE FROM hk.task_row WHERE task = $1 AND idx IN (SELECT idx FROM hk.task_row WHERE task = $1 LIMIT $2);

-- dropMessages: deletes some messages of a task.
DELETE FROM hk.message WHERE task = $1 AND (idx, n) IN (SELECT idx, n FROM hk.message WHERE task = $1 LIMIT $2);

-- dropBacklog: deletes some rows of the backlog.
DELETE FROM hk.backlog WHERE task = $1 AND position IN (SELECT position FROM hk.backlog WHERE task = $1 LIMIT $2);

-- dropDeferrals: deletes some deferrals of a task.
DELETE FROM hk.deferral WHERE task = $1 AND idx IN (SELECT idx FROM hk.deferral WHERE task = $1 LIMIT $2);

-- dropProducers: deletes some producers of a task.
DELETE FROM hk.producer WHERE task = $1 AND name IN (SELECT name FROM hk.producer WHERE task = $1 LIMIT $2);

-- dropParts: deletes some parts of a task.
DELETE FROM hk.part WHERE task = $1 AND idx IN (SELECT idx FROM hk.part WHERE task = $1 LIMIT $2);

-- dropReasons: deletes some reasons of a task.
DELETE FROM hk.reason WHERE task = $1 AND (status, code) IN (SELECT status, code FROM hk.reason WHERE task = $1 LIMIT $2);

-- drop: deletes a task that has no rows any more.
DELETE FROM hk.task_record WHERE key = $1;

-- size: returns the size of a task's parts.
SELECT key, bytes FROM hk.task_record WHERE id = $1 AND deleting = 0;

-- partSize: returns the size of a part.
SELECT octet_length(bytes) AS bytes FROM hk.part WHERE task = $1 AND idx = $2;

-- putPart: stores a part in place of an earlier one.
INSERT INTO hk.part (task, idx, bytes) VALUES ($1, $2, $3) ON CONFLICT (task, idx) DO UPDATE SET bytes = excluded.bytes;

-- resize: changes the size of a task's parts.
UPDATE hk.task_record SET bytes = bytes + $1 WHERE key = $2;

-- part: returns a part of a task.
SELECT part.bytes FROM hk.part AS part JOIN hk.task_record AS task ON task.key = part.task
WHERE task.id = $1 AND task.deleting = 0 AND part.idx = $2;
