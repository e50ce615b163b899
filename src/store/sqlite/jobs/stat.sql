-- count: adds to the figures of a day ('' = totals).
INSERT INTO stat (day, processed, failed) VALUES (?, ?, ?)
ON CONFLICT (day) DO UPDATE SET processed = processed + excluded.processed, failed = failed + excluded.failed;

-- day: returns the figures of a day ('' = totals).
SELECT processed, failed FROM stat WHERE day = ?;

-- totals: returns the number of jobs in queues and the number of rows in backlogs.
SELECT (SELECT coalesce(sum(size), 0) FROM queue) AS enqueued, (SELECT coalesce(sum(backlog), 0) FROM task) AS backlog;

-- reset: multiplies the totals by 0 or 1.
UPDATE stat SET processed = processed * ?1, failed = failed * ?2 WHERE day = '';
