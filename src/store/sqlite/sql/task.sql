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

-- advance: a submitter's chunk is in.
UPDATE adder SET cursor = ? WHERE task = ? AND token = ?;

-- addEvent: one row.
INSERT INTO event (task, idx, status, place, run, step, number, code, finished_at, args)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- eventState: what decides whether a transition applies.
SELECT status, place, run, step FROM event WHERE task = ? AND idx = ?;

-- begin: an attempt runs.
UPDATE event SET status = ?, place = ?, run = ?, step = ?, started_at = ?, finished_at = NULL, code = NULL
WHERE task = ? AND idx = ?;

-- change: an attempt has ended, or its job moved; the arguments are dropped when they are not needed any more.
UPDATE event SET status = ?, place = ?, run = ?, step = ?, started_at = coalesce(?, started_at), finished_at = ?,
  code = ?, result = ?, args = CASE WHEN ? THEN NULL ELSE args END
WHERE task = ? AND idx = ?;

-- place: where the job of an event is.
UPDATE event SET place = ? WHERE task = ? AND idx = ?;

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
