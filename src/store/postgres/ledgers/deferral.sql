-- put: records that an attempt of a row is deferred.
INSERT INTO hk.deferral (task, idx, run, attempt, state, ends) VALUES ($1, $2, $3, $4, 0, $5)
ON CONFLICT (task, idx) DO UPDATE SET run = excluded.run, attempt = excluded.attempt, state = 0, ends = excluded.ends;

-- find: returns the deferral of a row.
SELECT run, attempt, state, ends FROM hk.deferral WHERE task = $1 AND idx = $2;

-- park: the handler of the attempt has returned. No row changes: the row was parked before, or the attempt is not deferred.
UPDATE hk.deferral SET state = 1 WHERE task = $1 AND idx = $2 AND run = $3 AND attempt = $4 AND state = 0;

-- end: the row has ended.
UPDATE hk.deferral SET state = 2, ends = NULL WHERE task = $1 AND idx = $2;

-- dropDeadline: the row is not in the deferred attempt any more.
UPDATE hk.deferral SET state = CASE state WHEN 2 THEN 2 ELSE 0 END, ends = NULL WHERE task = $1 AND idx = $2;

-- parked: returns those of the rows that are parked.
SELECT idx, ends FROM unnest($2::bigint[]) AS wanted (idx) CROSS JOIN LATERAL (
  SELECT ends FROM hk.deferral AS deferral WHERE deferral.task = $1 AND deferral.idx = wanted.idx AND state = 1 OFFSET 0
) AS deferral;

-- overdue: returns rows whose deadline is over.
SELECT task.id, deferral.idx FROM hk.deferral AS deferral JOIN hk.task_record AS task ON task.key = deferral.task
WHERE ends <= $1 AND task.deleting = 0 ORDER BY ends LIMIT $2;
