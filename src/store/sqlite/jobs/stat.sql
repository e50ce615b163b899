-- count: adds to the totals ('') and to the figures of a day.
INSERT INTO hk_stat (day, processed, failed) VALUES ('', ?2, ?3), (?1, ?2, ?3)
ON CONFLICT (day) DO UPDATE SET processed = processed + excluded.processed, failed = failed + excluded.failed;

-- day: returns the figures of a day.
SELECT processed, failed FROM hk_stat WHERE day = ?;

-- totals: returns the totals, and the numbers of jobs by where they are. Only open tasks have a backlog.
SELECT processed, failed,
  (SELECT coalesce(sum(size), 0) FROM hk_queue) AS enqueued,
  (SELECT coalesce(sum(backlog), 0) FROM hk_task INDEXED BY hk_open_task
    WHERE (enqueued + working > 0 OR state = 'cancelling') AND deleting = 0) AS backlog,
  (SELECT coalesce(sum(limited), 0) FROM hk_queue) AS limited,
  (SELECT count(*) FROM hk_fetched) AS fetched,
  (SELECT size FROM hk_job_set WHERE name = 'schedule') AS scheduled,
  (SELECT size FROM hk_job_set WHERE name = 'retry') AS retries,
  (SELECT size FROM hk_job_set WHERE name = 'dead') AS dead
FROM hk_stat WHERE day = '';

-- reset: multiplies the totals by 0 or 1.
UPDATE hk_stat SET processed = processed * ?1, failed = failed * ?2 WHERE day = '';
