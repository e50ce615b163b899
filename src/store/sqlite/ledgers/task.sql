-- create: creates a task without rows. No row: the id is in use.
INSERT INTO hk_task (id, name, job, queue, template, window, keep_args, meta, state, created_at,
  max_failures, on_max_failures, on_done, on_failure, keep, lost_after, single, producers, producer, rows_per_job)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING key;

-- load: returns a task.
SELECT * FROM hk_task WHERE id = ? AND deleting = 0;

-- save: stores what changes with the events of a task.
UPDATE hk_task SET state = ?, total = ?, next = ?, backlog = ?, in_window = ?,
  enqueued = ?, working = ?, finished = ?, failed = ?, error = ?, cancelled = ?,
  progress_at = ?, finished_at = ?, expires_at = ?
WHERE key = ?;

-- saveTerms: stores what changes more rarely.
UPDATE hk_task SET name = ?, window = ?, max_failures = ?, on_max_failures = ?, paused = ?, reason = ?, producers = ?,
  broken = ?, run = ?, run_at = ?, ended_before = ?, mixed = ?, done_run = ?, failed_run = ?, cancel_from = ?, deferred = ?
WHERE key = ?;

-- replaceProducer: stores the producer that resumes adding.
UPDATE hk_task SET producer = ? WHERE key = ?;

-- keepLastRow: stores the text about the row that was added last.
UPDATE hk_task SET last_row = ? WHERE key = ?;

-- revokeLinks: ends all links of a task.
UPDATE hk_task SET link_version = link_version + 1 WHERE id = ? AND deleting = 0;

-- newest: returns a page of tasks, newest first.
SELECT * FROM hk_task WHERE single = 0 AND deleting = 0 ORDER BY created_at DESC, id DESC LIMIT ?;

-- older: returns the next page of tasks.
SELECT * FROM hk_task WHERE single = 0 AND deleting = 0 AND (created_at, id) < (?, ?)
ORDER BY created_at DESC, id DESC LIMIT ?;

-- addLabels: stores the labels of a new task, as a JSON object.
INSERT INTO hk_task_label (name, value, created_at, id, task)
SELECT label.key, label.value, task.created_at, task.id, task.key FROM hk_task AS task, json_each(?2) AS label WHERE task.key = ?1;

-- dropLabels: deletes the labels of a task.
DELETE FROM hk_task_label WHERE task = ?;

-- newestOf: returns a page of tasks with a label, newest first.
SELECT task.* FROM hk_task_label AS label JOIN hk_task AS task ON task.key = label.task
WHERE label.name = ? AND label.value = ? AND deleting = 0 ORDER BY label.created_at DESC, label.id DESC LIMIT ?;

-- olderOf: returns the next page of tasks with a label.
SELECT task.* FROM hk_task_label AS label JOIN hk_task AS task ON task.key = label.task
WHERE label.name = ? AND label.value = ? AND deleting = 0 AND (label.created_at, label.id) < (?, ?)
ORDER BY label.created_at DESC, label.id DESC LIMIT ?;

-- someOpen: returns a row if any task has a row that has not ended.
SELECT 1 AS open FROM hk_task
WHERE (enqueued + working > 0 OR state = 'cancelling') AND enqueued + working > 0 AND deleting = 0 LIMIT 1;

-- setDue: stores the time at which a single job is due.
UPDATE hk_task SET due_at = ? WHERE key = ?;

-- cancelling: lists tasks that are being cancelled, behind a key.
SELECT id, key FROM hk_task INDEXED BY hk_cancelling_task WHERE state = 'cancelling' AND deleting = 0 AND key > ? ORDER BY key LIMIT ?;

-- openFrom: counts the first tasks with open rows behind a key, at most ?2, and returns the last of their keys.
SELECT count(*) AS n, max(key) AS last FROM (
  SELECT key FROM hk_task INDEXED BY hk_open_task
  WHERE (enqueued + working > 0 OR state = 'cancelling') AND key > ?1 ORDER BY key LIMIT ?2
);

-- idle: lists tasks between two keys (the first one excluded) with open rows and no progress since a time.
SELECT * FROM hk_task INDEXED BY hk_open_task
WHERE (enqueued + working > 0 OR state = 'cancelling') AND key > ?1 AND key <= ?2
  AND deleting = 0 AND state <> 'cancelling' AND coalesce(progress_at, due_at, created_at) < ?3
ORDER BY key;

-- ahead: lists such tasks whose progress, or else creation, is after a time. Scheduled single jobs without progress are left out.
SELECT * FROM hk_task INDEXED BY hk_open_task
WHERE (enqueued + working > 0 OR state = 'cancelling') AND key > ?1 AND key <= ?2
  AND deleting = 0 AND state <> 'cancelling' AND coalesce(progress_at, CASE WHEN due_at IS NULL THEN created_at END) > ?3
ORDER BY key;

-- expired: returns ended tasks whose retention time is over, and tasks that are partly deleted.
SELECT id FROM hk_task WHERE expires_at <= ? ORDER BY expires_at LIMIT ?;

-- startDeleting: makes a task invisible and empties its backlog.
UPDATE hk_task SET deleting = 1, backlog = 0, expires_at = -1 WHERE id = ? AND moving < 2 RETURNING key;

-- dropEvents: deletes some events of a task.
DELETE FROM hk_event WHERE task = ?1 AND idx IN (SELECT idx FROM hk_event WHERE task = ?1 LIMIT ?2) RETURNING 1 AS gone;

-- dropMessages: deletes some messages of a task.
DELETE FROM hk_message WHERE task = ?1 AND (idx, n) IN (SELECT idx, n FROM hk_message WHERE task = ?1 LIMIT ?2) RETURNING 1 AS gone;

-- dropBacklog: deletes some rows of the backlog.
DELETE FROM hk_backlog WHERE task = ?1 AND position IN (SELECT position FROM hk_backlog WHERE task = ?1 LIMIT ?2) RETURNING 1 AS gone;

-- dropDeferrals: deletes some deferrals of a task.
DELETE FROM hk_deferral WHERE task = ?1 AND idx IN (SELECT idx FROM hk_deferral WHERE task = ?1 LIMIT ?2) RETURNING 1 AS gone;

-- dropProducers: deletes some producers of a task.
DELETE FROM hk_producer WHERE task = ?1 AND name IN (SELECT name FROM hk_producer WHERE task = ?1 LIMIT ?2) RETURNING 1 AS gone;

-- dropParts: deletes some parts of a task.
DELETE FROM hk_part WHERE task = ?1 AND idx IN (SELECT idx FROM hk_part WHERE task = ?1 LIMIT ?2) RETURNING 1 AS gone;

-- dropReasons: deletes some reasons of a task.
DELETE FROM hk_reason WHERE task = ?1 AND (status, code) IN (SELECT status, code FROM hk_reason WHERE task = ?1 LIMIT ?2)
RETURNING 1 AS gone;

-- drop: deletes a task that has no rows any more.
DELETE FROM hk_task WHERE key = ?;

-- size: returns the size of a task's parts.
SELECT key, bytes FROM hk_task WHERE id = ? AND deleting = 0;

-- partSize: returns the size of a part.
SELECT length(bytes) AS bytes FROM hk_part WHERE task = ? AND idx = ?;

-- putPart: stores a part in place of an earlier one.
INSERT INTO hk_part (task, idx, bytes) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET bytes = excluded.bytes;

-- resize: changes the size of a task's parts.
UPDATE hk_task SET bytes = bytes + ? WHERE key = ?;

-- part: returns a part of a task.
SELECT part.bytes FROM hk_part AS part JOIN hk_task AS task ON task.key = part.task WHERE task.id = ? AND task.deleting = 0 AND part.idx = ?;
