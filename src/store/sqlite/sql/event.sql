-- add: rows, as a JSON array of arrays in the order of the columns.
INSERT INTO event (task, idx, status, place, run, step, number, job, code, finished_at, args, source)
SELECT ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7, value ->> 8, value ->> 9, value ->> 10
FROM json_each(?2);

-- addBare: rows of which there is nothing but arguments, from an index on; the texts as a JSON array.
INSERT INTO event (task, idx, status, place, run, step, args)
SELECT ?1, ?2 + key, 0, 3, ?3, 1, value FROM json_each(?4);

-- plain: how many rows between two indexes, of those that have a place in a JSON array, are of a run and an attempt
-- (?5 and ?6: the steps before and in it) and not in the backlog, before the next row never issued (?7); how many of them
-- are working, and how many have a place.
SELECT count(*) AS n, count(*) FILTER (WHERE status = 1) AS working, count(*) FILTER (WHERE place <> 2) AS placed
FROM event WHERE task = ?1 AND idx BETWEEN ?2 AND ?3 AND run = ?4
  AND (status = 0 AND step = ?5 OR status = 1 AND step = ?6) AND (place IN (1, 2) OR place = 3 AND idx < ?7)
  AND ?8 ->> (idx - CAST(?2 AS INTEGER)) IS NOT NULL;

-- begin: the same rows begin to work; the array says when.
UPDATE event SET status = 1, step = ?4, code = NULL, started_at = ?5 ->> (idx - CAST(?2 AS INTEGER)), finished_at = NULL
WHERE task = ?1 AND idx BETWEEN ?2 AND ?3 AND ?5 ->> (idx - CAST(?2 AS INTEGER)) IS NOT NULL;

-- finish: the same rows finish; the arrays say when, and where it is told when they began, and with which result. ?8: whether
-- the arguments are not needed any more.
UPDATE event SET status = 2, place = 2, step = ?4, code = NULL,
  started_at = coalesce(?6 ->> (idx - CAST(?2 AS INTEGER)), started_at),
  finished_at = ?5 ->> (idx - CAST(?2 AS INTEGER)), result = ?7 ->> (idx - CAST(?2 AS INTEGER)),
  args = CASE WHEN ?8 THEN NULL ELSE args END, source = CASE WHEN ?8 THEN NULL ELSE source END
WHERE task = ?1 AND idx BETWEEN ?2 AND ?3 AND ?5 ->> (idx - CAST(?2 AS INTEGER)) IS NOT NULL;

-- load: what decides whether transitions apply, of the rows in a JSON array of indexes.
SELECT json_group_array(json_array(idx, status, place, run, step, code, started_at, finished_at, result)) AS json FROM event
WHERE task = ?1 AND idx IN (SELECT value FROM json_each(?2));

-- save: changed rows, as a JSON array of arrays; the last element says that the arguments are not needed any more.
-- (An upsert of rows that are there: with UPDATE … FROM json_each SQLite would walk through all events of the task.)
INSERT INTO event (task, idx, status, place, run, step, code, started_at, finished_at, result, args)
SELECT ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7, value ->> 8, value ->> 9
FROM json_each(?2) WHERE true
ON CONFLICT (task, idx) DO UPDATE SET
  status = excluded.status, place = excluded.place, run = excluded.run, step = excluded.step, code = excluded.code,
  started_at = excluded.started_at, finished_at = excluded.finished_at, result = excluded.result,
  args = CASE WHEN excluded.args THEN NULL ELSE args END,
  source = CASE WHEN excluded.args THEN NULL ELSE source END;

-- withArgs: those of the rows of a JSON array of indexes that can run again as they are.
SELECT idx FROM event WHERE task = ?1 AND idx IN (SELECT value FROM json_each(?2)) AND args IS NOT NULL;

-- correct: other arguments for a row, and what it came from where that is told.
UPDATE event SET args = coalesce(?3, args), source = coalesce(?4, source) WHERE task = ?1 AND idx = ?2;

-- fresh: rows never issued, in order.
SELECT idx, run, args FROM event WHERE task = ? AND idx >= ? AND place = 3 ORDER BY idx LIMIT ?;

-- open: enqueued and working rows among the next rows of a task.
SELECT idx, status FROM (SELECT idx, status FROM event WHERE task = ?1 AND idx >= ?2 ORDER BY idx LIMIT ?3)
WHERE status < 2 ORDER BY idx LIMIT ?4;

-- one: one event of a task.
SELECT * FROM event WHERE task = ? AND idx = ?;

-- those: the events of a JSON array of indexes.
SELECT * FROM event WHERE task = ?1 AND idx IN (SELECT value FROM json_each(?2)) ORDER BY idx LIMIT ?3;

-- page: a page of events.
SELECT * FROM event WHERE task = ? AND idx > ? ORDER BY idx LIMIT ?;

-- pageOf: a page of events of one status. The rejected ones have an index.
SELECT * FROM event WHERE task = ? AND status = ? AND idx > ? ORDER BY idx LIMIT ?;

-- rejectedOf: the same for failed (3), error (4) and cancelled (5), by their index.
SELECT * FROM event WHERE task = ? AND status = ? AND status >= 3 AND idx > ? ORDER BY idx LIMIT ?;

-- codedOf: reads a page of rejected events with a code (NULL: without one), of the statuses of a JSON array.
SELECT * FROM event WHERE task = ?1 AND code IS ?2 AND status >= 3 AND idx > ?3
  AND status IN (SELECT value FROM json_each(?4)) ORDER BY idx LIMIT ?5;

-- messages: what an event has been told, oldest first.
SELECT n, at, code, params FROM message WHERE task = ? AND idx = ? ORDER BY n;

-- messageCount: how many are kept and the number of the last one.
SELECT count(*) AS kept, coalesce(max(n), 0) AS last FROM message WHERE task = ? AND idx = ?;

-- addMessage: one more.
INSERT INTO message (task, idx, n, at, code, params) VALUES (?, ?, ?, ?, ?, ?);

-- dropMiddle: the oldest message behind the first few.
DELETE FROM message WHERE task = ?1 AND idx = ?2
  AND n = (SELECT min(n) FROM message WHERE task = ?1 AND idx = ?2 AND n > ?3);

-- countReasons: as a JSON array of [status, code, difference].
INSERT INTO reason (task, status, code, count)
SELECT ?1, value ->> 0, value ->> 1, value ->> 2 FROM json_each(?2) WHERE true
ON CONFLICT DO UPDATE SET count = count + excluded.count;

-- dropReasons: those that no row has any more.
DELETE FROM reason WHERE task = ? AND count = 0;

-- reasons: how many rows there are of each code.
SELECT status, code, count FROM reason WHERE task = ? ORDER BY status, code;
