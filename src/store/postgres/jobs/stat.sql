-- count: adds to the totals ('') and to the figures of a day.
INSERT INTO hk.stat AS s (day, processed, failed) VALUES ($1, $2, $3), ('', $2, $3)
ON CONFLICT (day) DO UPDATE SET processed = s.processed + excluded.processed, failed = s.failed + excluded.failed;

-- days: returns the figures of days.
SELECT day, sum(processed) AS processed, sum(failed) AS failed FROM (
  SELECT day, processed, failed FROM hk.stat UNION ALL SELECT day, processed, 0 FROM hk.stat_change
) AS both_tables WHERE day = ANY($1::text[]) GROUP BY day;

-- totals: returns the totals, and the numbers of jobs by where they are. A task with a backlog is open, and an index has the open ones.
SELECT processed + (SELECT coalesce(sum(processed), 0) FROM hk.stat_change) AS processed, failed,
  (SELECT coalesce(sum(size), 0) FROM hk.queue_now) AS enqueued,
  (SELECT coalesce(sum(backlog), 0) FROM hk.task_record WHERE is_open AND deleting = 0) AS backlog,
  (SELECT coalesce(sum(limited), 0) FROM hk.queue) AS limited,
  (SELECT count(*) FROM hk.fetched) AS fetched,
  (SELECT size FROM hk.job_set WHERE name = 'schedule') AS scheduled,
  (SELECT size FROM hk.job_set WHERE name = 'retry') AS retries,
  (SELECT size FROM hk.job_set WHERE name = 'dead') AS dead
FROM hk.stat WHERE day = '';

-- reset: multiplies the totals by 0 or 1.
UPDATE hk.stat SET processed = processed * $1, failed = failed * $2 WHERE day = '';
