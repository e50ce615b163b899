-- put: records that an attempt of a row is deferred.
INSERT INTO hk_deferral (task, idx, run, attempt, state, ends) VALUES (?, ?, ?, ?, 0, ?)
ON CONFLICT DO UPDATE SET run = excluded.run, attempt = excluded.attempt, state = 0, ends = excluded.ends;

-- find: returns the deferral of a row.
SELECT run, attempt, state, ends FROM hk_deferral WHERE task = ? AND idx = ?;

-- park: the handler of the attempt has returned.
UPDATE hk_deferral SET state = 1 WHERE task = ? AND idx = ?;

-- end: the row has ended.
UPDATE hk_deferral SET state = 2, ends = NULL WHERE task = ? AND idx = ?;

-- dropDeadline: the row is not in the deferred attempt any more.
UPDATE hk_deferral SET state = CASE state WHEN 2 THEN 2 ELSE 0 END, ends = NULL WHERE task = ? AND idx = ?;

-- parked: returns those rows of a JSON array of indexes that are parked.
SELECT idx, run, ends FROM hk_deferral WHERE task = ?1 AND state = 1 AND idx IN (SELECT value FROM json_each(?2));

-- overdue: returns rows whose deadline is over.
SELECT task.id, deferral.idx FROM hk_deferral AS deferral JOIN hk_task AS task ON task.key = deferral.task
WHERE ends <= ? AND task.deleting = 0 ORDER BY ends LIMIT ?;
