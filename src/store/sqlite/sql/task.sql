-- create: a task without rows; no row when the id is taken.
INSERT INTO task (id, name, job, queue, template, window, keep_params, meta, adder, state, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'adding', ?) ON CONFLICT DO NOTHING RETURNING key;

-- load: a whole task.
SELECT * FROM task WHERE id = ?;

-- save: what changes in a task's life.
UPDATE task SET state = ?, run = ?, total = ?, next = ?, held = ?, placed = ?,
  enqueued = ?, working = ?, finished = ?, failed = ?, error = ?, cancelled = ?,
  progress_at = ?, finished_at = ?
WHERE key = ?;

-- newest: a page of tasks, newest first.
SELECT * FROM task ORDER BY created_at DESC, id DESC LIMIT ?;

-- older: the page behind one.
SELECT * FROM task WHERE (created_at, id) < (?, ?) ORDER BY created_at DESC, id DESC LIMIT ?;

-- enterAdder: a submitter begins to count.
INSERT INTO adder (task, token) VALUES (?, ?) ON CONFLICT DO NOTHING;

-- adder: how far a submitter has come.
SELECT cursor FROM adder WHERE task = ? AND token = ?;

-- interrupt: the tasks of a submitter who died while adding.
UPDATE task SET state = 'interrupted' WHERE adder = ? AND state = 'adding';

-- advance: a submitter's chunk is in.
UPDATE adder SET cursor = ? WHERE task = ? AND token = ?;

-- addEvents: rows, as a JSON array of arrays in the order of the columns.
INSERT INTO event (task, idx, status, place, run, step, number, code, finished_at, args, source)
SELECT ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7, value ->> 8, value ->> 9
FROM json_each(?2);

-- loadEvents: what decides whether transitions apply, of the rows in a JSON array of indexes.
SELECT idx, status, place, run, step, code, started_at, finished_at, result FROM event
WHERE task = ?1 AND idx IN (SELECT value FROM json_each(?2));

-- saveEvents: changed rows, as a JSON array of arrays; the last element says that the arguments are not needed any more.
-- (An upsert of rows that are there: with UPDATE … FROM json_each SQLite would walk through all events of the task.)
INSERT INTO event (task, idx, status, place, run, step, code, started_at, finished_at, result, args)
SELECT ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7, value ->> 8, value ->> 9
FROM json_each(?2) WHERE true
ON CONFLICT (task, idx) DO UPDATE SET
  status = excluded.status, place = excluded.place, run = excluded.run, step = excluded.step, code = excluded.code,
  started_at = excluded.started_at, finished_at = excluded.finished_at, result = excluded.result,
  args = CASE WHEN excluded.args THEN NULL ELSE args END,
  source = CASE WHEN excluded.args THEN NULL ELSE source END;

-- waiting: rows never issued, in order.
SELECT idx, run, args FROM event WHERE task = ? AND idx >= ? AND status = 0 ORDER BY idx LIMIT ?;

-- holdFront: a row that came back while the window is full goes before the others that wait.
INSERT INTO backlog (task, place, idx, text)
SELECT ?1, coalesce(min(place), 0) - 1, ?2, ?3 FROM backlog WHERE task = ?1;

-- firstHeld: rows that came back, in order.
SELECT place, idx, text FROM backlog WHERE task = ? ORDER BY place LIMIT ?;

-- unhold: a row that came back is issued.
DELETE FROM backlog WHERE task = ? AND place = ?;

-- event: one event of a task.
SELECT event.* FROM event WHERE task = ? AND idx = ?;

-- events: a page of events.
SELECT * FROM event WHERE task = ? AND idx > ? ORDER BY idx LIMIT ?;

-- eventsOf: a page of events of one status. The rejected ones have an index.
SELECT * FROM event WHERE task = ? AND status = ? AND idx > ? ORDER BY idx LIMIT ?;

-- rejectedOf: the same for failed (3), error (4) and cancelled (5), by their index.
SELECT * FROM event WHERE task = ? AND status = ? AND status >= 3 AND idx > ? ORDER BY idx LIMIT ?;

-- messages: what an event has been told, oldest first.
SELECT n, at, code, params FROM message WHERE task = ? AND idx = ? ORDER BY n;

-- messageCount: how many are kept and the number of the last one.
SELECT count(*) AS kept, coalesce(max(n), 0) AS last FROM message WHERE task = ? AND idx = ?;

-- addMessage: one more.
INSERT INTO message (task, idx, n, at, code, params) VALUES (?, ?, ?, ?, ?, ?);

-- dropMiddle: the oldest message behind the first few.
DELETE FROM message WHERE task = ?1 AND idx = ?2
  AND n = (SELECT min(n) FROM message WHERE task = ?1 AND idx = ?2 AND n > ?3);

-- someOpen: whether any task has a row that has not ended.
SELECT 1 AS open FROM task WHERE enqueued + working > 0 LIMIT 1;
