-- freeze: adds a task that goes to another store.
INSERT INTO hk.moving_task (id) VALUES ($1) ON CONFLICT DO NOTHING;

-- unfreeze: forgets a task that is not sealed.
DELETE FROM hk.moving_task WHERE id = $1 AND transfer IS NULL;

-- list: returns the tasks that go to another store.
SELECT id, transfer, target FROM hk.moving_task WHERE cursor IS NULL ORDER BY id;

-- find: returns a task that goes to another store or comes from one.
SELECT transfer, target, cursor FROM hk.moving_task WHERE id = $1;

-- isMoving: returns a row if a task goes to another store.
SELECT 1 FROM hk.moving_task WHERE id = $1 AND cursor IS NULL;

-- hasJobs: returns a row if one of some sets has jobs.
SELECT 1 FROM hk.job_set WHERE name = ANY($1::text[]) AND size > 0;

-- seal: stores the name of a task.
UPDATE hk.moving_task SET transfer = $2, target = $3 WHERE id = $1;

-- unseal: removes the name of a task. No row changes: no task is sealed under it.
UPDATE hk.moving_task SET transfer = NULL, target = NULL WHERE id = $1 AND transfer = $2 AND target IS NOT NULL;

-- drop: forgets a sealed task.
DELETE FROM hk.moving_task WHERE id = $1 AND transfer = $2 AND target IS NOT NULL;

-- begin: adds a task that comes from another store.
INSERT INTO hk.moving_task (id, transfer, cursor) VALUES ($1, $2, $3)
ON CONFLICT (id) DO UPDATE SET transfer = excluded.transfer, target = NULL, cursor = excluded.cursor;

-- advance: stores the cursor of the next part of a task.
UPDATE hk.moving_task SET cursor = $2 WHERE id = $1;

-- forget: forgets a task that came from another store.
DELETE FROM hk.moving_task WHERE id = $1;

-- dropSets: deletes those of some sets that are empty.
DELETE FROM hk.job_set WHERE name = ANY($1::text[]) AND size = 0;

-- mark: stores whether a task is frozen (1), or sealed or not complete (2).
UPDATE hk.task_record SET moving = $2 WHERE id = $1;

-- hide: makes a task invisible.
UPDATE hk.task_record SET moving = 2, deleting = 1, expires_at = NULL WHERE id = $1;

-- show: makes a task visible that was hidden.
UPDATE hk.task_record SET moving = $2, deleting = 0,
  expires_at = CASE WHEN state IN ('done', 'cancelled') THEN finished_at + keep END WHERE id = $1;

-- expire: lets a hidden task be deleted.
UPDATE hk.task_record SET moving = 0, expires_at = -1 WHERE id = $1;

-- ids: returns ids of tasks, in order.
SELECT id FROM hk.task_record WHERE id > $1 AND (deleting = 0 OR moving = 2) ORDER BY id LIMIT $2;

-- task: returns a hidden task.
SELECT * FROM hk.task_record WHERE id = $1 AND moving = 2;

-- isDeleted: returns whether a task is being deleted.
SELECT deleting = 1 AND moving = 0 AS deleted FROM hk.task_record WHERE id = $1;

-- labels: returns the labels of a task.
SELECT name, value FROM hk.task_label WHERE task = $1 ORDER BY name;

-- producers: returns the producers of a task that are no rows.
SELECT name, cursor, state FROM hk.producer WHERE task = $1 AND state <> 4 ORDER BY name;

-- addProducers: adds producers.
INSERT INTO hk.producer (task, name, cursor, state) SELECT $1, * FROM unnest($2::text[], $3::bigint[], $4::smallint[]);

-- progress: stores what no change of a task changes.
UPDATE hk.task_record SET due_at = $2, link_version = $3 WHERE key = $1;

-- touch: stores the time of the last progress of a task with open rows.
UPDATE hk.task_record SET progress_at = $2 WHERE id = $1 AND enqueued + working > 0;

-- deferrals: returns the deferrals of the rows between two indexes.
SELECT idx, run, attempt, state, ends FROM hk.deferral WHERE task = $1 AND idx BETWEEN $2 AND $3;

-- rowProducers: returns how many rows these producers have added.
SELECT name, cursor FROM unnest($2::text[]) AS wanted (name) CROSS JOIN LATERAL (
  SELECT cursor FROM hk.producer AS producer WHERE producer.task = $1 AND producer.name = wanted.name AND state = 4 OFFSET 0
) AS producer;

-- backlog: returns rows with a place of their own in the backlog, in order.
SELECT position, backlog.idx, text, run FROM hk.backlog AS backlog
JOIN hk.task_row AS event ON event.task = backlog.task AND event.idx = backlog.idx
WHERE backlog.task = $1 AND position > $2 ORDER BY position LIMIT $3;

-- file: returns the next part of a task's files.
SELECT idx, bytes FROM hk.part WHERE task = $1 AND idx > $2 ORDER BY idx LIMIT 1;

-- addRows: adds rows.
INSERT INTO hk.task_row (task, idx, status, location, run, step, number, job, code, started_at, finished_at, args, source, result)
SELECT $1, * FROM unnest($2::bigint[], $3::smallint[], $4::smallint[], $5::integer[], $6::integer[], $7::bigint[], $8::text[], $9::text[],
  $10::bigint[], $11::bigint[], $12::text[], $13::text[], $14::text[]);

-- addMessages: adds messages with their numbers.
INSERT INTO hk.message (task, idx, n, at, code, params)
SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[]);

-- addDeferrals: adds deferrals.
INSERT INTO hk.deferral (task, idx, run, attempt, state, ends)
SELECT $1, * FROM unnest($2::bigint[], $3::integer[], $4::integer[], $5::smallint[], $6::bigint[]);

-- addReturned: adds rows that came back to the front of the backlog, behind those that were added before.
INSERT INTO hk.backlog (task, position, idx, text)
SELECT $1::bigint, coalesce((SELECT max(position) + 1 FROM hk.backlog WHERE task = $1 AND position < 0), -1099511627776) + n - 1, idx, text
FROM unnest($2::bigint[], $3::text[]) WITH ORDINALITY AS new (idx, text, n) ON CONFLICT DO NOTHING;
