-- freeze: adds a task that goes to another store.
INSERT INTO hk_moving_task (id) VALUES (?) ON CONFLICT DO NOTHING;

-- unfreeze: forgets a task that is not sealed.
DELETE FROM hk_moving_task WHERE id = ? AND transfer IS NULL;

-- list: returns the tasks that go to another store.
SELECT id, transfer, target FROM hk_moving_task WHERE cursor IS NULL ORDER BY id;

-- find: returns a task that goes to another store or comes from one.
SELECT transfer, target, cursor FROM hk_moving_task WHERE id = ?;

-- isMoving: returns a row if a task goes to another store.
SELECT 1 FROM hk_moving_task WHERE id = ? AND cursor IS NULL;

-- hasJobs: returns a row if one of the sets of a task has jobs; ?1 is a JSON array of their names.
SELECT 1 FROM hk_job_set WHERE name IN (SELECT value FROM json_each(?1)) AND size > 0;

-- seal: stores the name of a task.
UPDATE hk_moving_task SET transfer = ?2, target = ?3 WHERE id = ?1;

-- unseal: removes the name of a task. No row changes: no task is sealed under it.
UPDATE hk_moving_task SET transfer = NULL, target = NULL WHERE id = ? AND transfer = ? AND target IS NOT NULL;

-- drop: forgets a sealed task.
DELETE FROM hk_moving_task WHERE id = ? AND transfer = ? AND target IS NOT NULL;

-- begin: adds a task that comes from another store.
INSERT INTO hk_moving_task (id, transfer, cursor) VALUES (?, ?, ?)
ON CONFLICT DO UPDATE SET transfer = excluded.transfer, target = NULL, cursor = excluded.cursor;

-- advance: stores the cursor of the next part of a task.
UPDATE hk_moving_task SET cursor = ?2 WHERE id = ?1;

-- forget: forgets a task that came from another store.
DELETE FROM hk_moving_task WHERE id = ?;

-- dropSets: deletes the empty sets of a task; ?1 is a JSON array of their names.
DELETE FROM hk_job_set WHERE name IN (SELECT value FROM json_each(?1)) AND size = 0;

-- mark: stores whether a task is frozen (1), or sealed or not complete (2).
UPDATE hk_task SET moving = ?2 WHERE id = ?1;

-- hide: makes a task invisible.
UPDATE hk_task SET moving = 2, deleting = 1, expires_at = NULL WHERE id = ?;

-- show: makes a task visible that was hidden.
UPDATE hk_task SET moving = ?2, deleting = 0,
  expires_at = CASE WHEN state IN ('done', 'cancelled') THEN finished_at + keep END WHERE id = ?1;

-- expire: lets a hidden task be deleted.
UPDATE hk_task SET moving = 0, expires_at = -1 WHERE id = ?;

-- ids: returns ids of tasks, in order.
SELECT id FROM hk_task WHERE id > ? AND (deleting = 0 OR moving = 2) ORDER BY id LIMIT ?;

-- task: returns a hidden task.
SELECT * FROM hk_task WHERE id = ? AND moving = 2;

-- isDeleted: returns whether a task is being deleted.
SELECT deleting = 1 AND moving = 0 AS deleted FROM hk_task WHERE id = ?;

-- labels: returns the labels of a task as a JSON object.
SELECT json_group_object(name, value) AS labels FROM hk_task_label WHERE task = ?;

-- producers: returns the producers of a task that are no rows.
SELECT name, cursor, state FROM hk_producer WHERE task = ? AND state <> 4 ORDER BY name;

-- addProducers: adds producers, as a JSON array of arrays.
INSERT INTO hk_producer (task, name, cursor, state) SELECT ?1, value ->> 0, value ->> 1, value ->> 2 FROM json_each(?2);

-- progress: stores the state of a task, as a JSON object.
UPDATE hk_task SET state = ?2 ->> 'state', paused = ?2 ->> 'paused', reason = ?2 ->> 'reason', run = ?2 ->> 'run',
  run_at = ?2 ->> 'runAt', ended_before = ?2 ->> 'endedBefore', done_run = ?2 ->> 'doneRun', failed_run = ?2 ->> 'failedRun',
  mixed = ?2 ->> 'mixed', total = ?2 ->> 'total', next = ?2 ->> 'next', backlog = ?2 ->> 'backlog', deferred = ?2 ->> 'deferred',
  enqueued = ?2 ->> '$.counts.enqueued', working = ?2 ->> '$.counts.working', finished = ?2 ->> '$.counts.finished',
  failed = ?2 ->> '$.counts.failed', error = ?2 ->> '$.counts.error', cancelled = ?2 ->> '$.counts.cancelled',
  last_row = ?2 ->> 'lastRow', progress_at = ?2 ->> 'progressAt', finished_at = ?2 ->> 'finishedAt', due_at = ?2 ->> 'dueAt',
  link_version = ?2 ->> 'linkVersion', broken = ?2 ->> 'broken' WHERE key = ?1;

-- touch: stores the time of the last progress of a task with open rows.
UPDATE hk_task SET progress_at = ?2 WHERE id = ?1 AND enqueued + working > 0;

-- messages: returns the messages of the rows between two indexes.
SELECT idx, n, at, code, params FROM hk_message WHERE task = ? AND idx BETWEEN ? AND ? ORDER BY idx, n;

-- deferrals: returns the deferrals of the rows between two indexes.
SELECT idx, run, attempt, state, ends FROM hk_deferral WHERE task = ? AND idx BETWEEN ? AND ?;

-- adders: returns how many rows these producers have added, a JSON array of names.
SELECT name, cursor FROM hk_producer WHERE task = ?1 AND name IN (SELECT value FROM json_each(?2)) AND state = 4;

-- backlog: returns rows with a place of their own in the backlog, in order.
SELECT position, backlog.idx, text, run FROM hk_backlog AS backlog
JOIN hk_event AS event ON event.task = backlog.task AND event.idx = backlog.idx
WHERE backlog.task = ? AND position > ? ORDER BY position LIMIT ?;

-- file: returns the next part of a task's files.
SELECT idx, bytes FROM hk_part WHERE task = ? AND idx > ? ORDER BY idx LIMIT 1;

-- addRows: adds rows, as a JSON array of arrays in the order of the columns.
INSERT INTO hk_event (task, idx, status, location, run, step, number, job, code, started_at, finished_at, args, source, result)
SELECT ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7, value ->> 8,
  value ->> 9, value ->> 10, value ->> 11, value ->> 12 FROM json_each(?2);

-- addMessages: adds messages, as a JSON array of arrays in the order of the columns.
INSERT INTO hk_message (task, idx, n, at, code, params)
SELECT ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?2);

-- addDeferrals: adds deferrals, as a JSON array of arrays in the order of the columns.
INSERT INTO hk_deferral (task, idx, run, attempt, state, ends)
SELECT ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?2);

-- countReasons: counts rejected rows, as a JSON array of [status, code].
INSERT INTO hk_reason (task, status, code, count)
SELECT ?1, value ->> 0, value ->> 1, count(*) FROM json_each(?2) WHERE true GROUP BY 2, 3
ON CONFLICT DO UPDATE SET count = count + excluded.count;

-- addReturned: adds a row that came back to the front of the backlog, behind those that were added before.
INSERT INTO hk_backlog (task, position, idx, text)
SELECT ?1, coalesce(max(position) + 1, -1099511627776), ?2, ?3 FROM hk_backlog WHERE task = ?1 AND position < 0 ON CONFLICT DO NOTHING;

-- addRetried: adds a row to the back of the backlog, with a position of at least ?3.
INSERT INTO hk_backlog (task, position, idx)
SELECT ?1, max(coalesce(max(position), 0) + 1, ?3), ?2 FROM hk_backlog WHERE task = ?1 ON CONFLICT DO NOTHING;
