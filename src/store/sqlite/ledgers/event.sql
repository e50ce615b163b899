-- add: adds rows, as a JSON array of arrays in the order of the columns.
INSERT INTO hk_event (task, idx, status, location, run, step, number, job, code, finished_at, args, source)
SELECT ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7, value ->> 8, value ->> 9, value ->> 10
FROM json_each(?2);

-- addBare: adds rows that have just arguments, from an index on; the texts are a JSON array.
INSERT INTO hk_event (task, idx, status, location, run, step, args)
SELECT ?1, ?2 + key, 0, 3, ?3, 1, value FROM json_each(?4);

-- plain: counts the rows between two indexes that have a time in ?8, are in a run and an attempt (?5 and ?6:
-- the steps before and in it), and are not in the backlog, before the next row that was never in the queue (?7). Also
-- counts how many of them are working, and how many are in the window. Times are 16 bytes for each index, blank for none, because
-- SQLite would search a JSON array from its beginning for each row.
SELECT count(*) AS n, count(*) FILTER (WHERE status = 1) AS working, count(*) FILTER (WHERE location <> 2) AS inWindow
FROM hk_event WHERE task = ?1 AND idx BETWEEN ?2 AND ?3 AND run = ?4
  AND (status = 0 AND step = ?5 OR status = 1 AND step = ?6) AND (location IN (1, 2) OR location = 3 AND idx < ?7)
  AND substr(?8, 16 * (idx - CAST(?2 AS INTEGER)) + 1, 1) <> x'20';

-- begin: sets the same rows to `working` at the times in ?5.
UPDATE hk_event SET status = 1, step = ?4, code = NULL, finished_at = NULL,
  started_at = CAST(CAST(substr(?5, 16 * (idx - CAST(?2 AS INTEGER)) + 1, 16) AS TEXT) AS INTEGER)
WHERE task = ?1 AND idx BETWEEN ?2 AND ?3 AND substr(?5, 16 * (idx - CAST(?2 AS INTEGER)) + 1, 1) <> x'20';

-- finish: sets the same rows to `finished`; ?5 and ?6 have the times of the end and the start, and ?7 is a JSON array of
-- the results. ?8: whether the arguments are dropped.
UPDATE hk_event SET status = 2, location = 2, step = ?4, code = NULL,
  started_at = coalesce(nullif(CAST(CAST(substr(?6, 16 * (idx - CAST(?2 AS INTEGER)) + 1, 16) AS TEXT) AS INTEGER), 0), started_at),
  finished_at = CAST(CAST(substr(?5, 16 * (idx - CAST(?2 AS INTEGER)) + 1, 16) AS TEXT) AS INTEGER), result = ?7 ->> (idx - CAST(?2 AS INTEGER)),
  args = CASE WHEN ?8 THEN NULL ELSE args END, source = CASE WHEN ?8 THEN NULL ELSE source END
WHERE task = ?1 AND idx BETWEEN ?2 AND ?3 AND substr(?5, 16 * (idx - CAST(?2 AS INTEGER)) + 1, 1) <> x'20';

-- load: returns what decides whether effects apply, for the rows of a JSON array of indexes.
SELECT json_group_array(json_array(idx, status, location, run, step, code, started_at, finished_at, result)) AS json FROM hk_event
WHERE task = ?1 AND idx IN (SELECT value FROM json_each(?2));

-- save: stores changed rows, as a JSON array of arrays; the last element says that the arguments are dropped. It is an
-- upsert of existing rows, because for UPDATE … FROM json_each SQLite reads all events of the task.
INSERT INTO hk_event (task, idx, status, location, run, step, code, started_at, finished_at, result, args)
SELECT ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7, value ->> 8, value ->> 9
FROM json_each(?2) WHERE true
ON CONFLICT (task, idx) DO UPDATE SET
  status = excluded.status, location = excluded.location, run = excluded.run, step = excluded.step, code = excluded.code,
  started_at = excluded.started_at, finished_at = excluded.finished_at, result = excluded.result,
  args = CASE WHEN excluded.args THEN NULL ELSE args END,
  source = CASE WHEN excluded.args THEN NULL ELSE source END;

-- withArgs: returns the rows of a JSON array of indexes that have arguments.
SELECT idx FROM hk_event WHERE task = ?1 AND idx IN (SELECT value FROM json_each(?2)) AND args IS NOT NULL;

-- correct: stores other arguments and another source for a row; NULL: unchanged.
UPDATE hk_event SET args = coalesce(?3, args), source = coalesce(?4, source) WHERE task = ?1 AND idx = ?2;

-- neverQueued: returns rows that were never in the queue, in order.
SELECT idx, run, args FROM hk_event WHERE task = ? AND idx >= ? AND location = 3 ORDER BY idx LIMIT ?;

-- open: returns enqueued and working rows among the next rows of a task.
SELECT idx, status FROM (SELECT idx, status FROM hk_event WHERE task = ?1 AND idx >= ?2 ORDER BY idx LIMIT ?3)
WHERE status < 2 ORDER BY idx LIMIT ?4;

-- one: returns an event.
SELECT * FROM hk_event WHERE task = ? AND idx = ?;

-- those: returns the events of a JSON array of indexes.
SELECT * FROM hk_event WHERE task = ?1 AND idx IN (SELECT value FROM json_each(?2)) ORDER BY idx LIMIT ?3;

-- page: returns a page of events.
SELECT * FROM hk_event WHERE task = ? AND idx > ? ORDER BY idx LIMIT ?;

-- pageOf: returns a page of events of one status. For rejected events use rejectedOf, which has an index.
SELECT * FROM hk_event WHERE task = ? AND status = ? AND idx > ? ORDER BY idx LIMIT ?;

-- rejectedOf: returns a page of events of one status: failed (3), error (4) or cancelled (5).
SELECT * FROM hk_event WHERE task = ? AND status = ? AND status >= 3 AND idx > ? ORDER BY idx LIMIT ?;

-- codedOf: reads a page of rejected events with a code (NULL: without one), of the statuses of a JSON array.
SELECT * FROM hk_event WHERE task = ?1 AND code IS ?2 AND status >= 3 AND idx > ?3
  AND status IN (SELECT value FROM json_each(?4)) ORDER BY idx LIMIT ?5;

-- messages: returns the messages of an event, oldest first.
SELECT n, at, code, params FROM hk_message WHERE task = ? AND idx = ? ORDER BY n;

-- messageCount: returns the number of messages and the number of the last one.
SELECT count(*) AS kept, coalesce(max(n), 0) AS last FROM hk_message WHERE task = ? AND idx = ?;

-- addMessage: adds a message.
INSERT INTO hk_message (task, idx, n, at, code, params) VALUES (?, ?, ?, ?, ?, ?);

-- dropMiddle: deletes the oldest message behind the first few.
DELETE FROM hk_message WHERE task = ?1 AND idx = ?2
  AND n = (SELECT min(n) FROM hk_message WHERE task = ?1 AND idx = ?2 AND n > ?3);

-- countReasons: adds to counts, as a JSON array of [status, code, difference].
INSERT INTO hk_reason (task, status, code, count)
SELECT ?1, value ->> 0, value ->> 1, value ->> 2 FROM json_each(?2) WHERE true
ON CONFLICT DO UPDATE SET count = count + excluded.count;

-- dropReasons: deletes counts of zero.
DELETE FROM hk_reason WHERE task = ? AND count = 0;

-- reasons: returns the number of rows of each code.
SELECT status, code, count FROM hk_reason WHERE task = ? ORDER BY status, code;
