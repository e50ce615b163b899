-- areAt: returns the numbers of those jobs, from 1 on, that are at their positions in a queue.
SELECT named.i FROM unnest($2::bigint[], $3::text[]) WITH ORDINALITY AS named (position, text, i)
CROSS JOIN LATERAL hk.oldest_jobs($1, 1, named.position - 1, named.position + 1) AS there WHERE there.job = named.text;

-- pull: deletes jobs that are at their positions and not packed, and reduces the size of their queue. Returns the numbers of those
-- deleted, from 1 on.
WITH gone AS (
  DELETE FROM hk.ready AS ready USING unnest($2::bigint[], $3::text[]) WITH ORDINALITY AS named (position, text, i)
  WHERE ready.queue = $1 AND ready.position = named.position AND ready.text = named.text RETURNING named.i
), shrunk AS (
  UPDATE hk.queue SET size = size - (SELECT count(*) FROM gone) WHERE id = $1 AND EXISTS (SELECT 1 FROM gone)
)
SELECT i FROM gone;

-- someEffects: returns a row if a job can have anything that must change with it: an open row of a task, a batch, a lock, or a
-- cron entry.
SELECT 1 WHERE EXISTS (SELECT 1 FROM hk.task_record
  WHERE is_open AND enqueued + working > 0 AND deleting = 0)
OR EXISTS (SELECT 1 FROM hk.cron) OR EXISTS (SELECT 1 FROM hk.lock) OR EXISTS (SELECT 1 FROM hk.unique_lock)
OR EXISTS (SELECT 1 FROM hk.batch WHERE pending + dead > 0);

-- sizes: returns id, jobs and bytes of queues, in the order given; null for the id of an unknown one. Ends before the first queue
-- with which they have more than $2 jobs.
WITH asked AS (
  SELECT n, queue.id, sum(coalesce(queue.size, 0)) OVER (ORDER BY n) AS jobs_so_far
  FROM unnest($1::text[]) WITH ORDINALITY AS names (name, n) LEFT JOIN hk.queue_now AS queue USING (name)
)
SELECT asked.id, counted.jobs, counted.bytes FROM asked CROSS JOIN LATERAL (
  SELECT count(*) AS jobs, coalesce(sum(octet_length(job)), 0)::bigint AS bytes
  FROM hk.oldest_jobs(asked.id, NULL)
) AS counted
WHERE jobs_so_far <= $2 ORDER BY n;

-- inQueues: returns the jobs of queues that contain a text, queue by queue in the order given, each newest first.
SELECT n, at_position AS position, job AS text FROM unnest($1::bigint[]) WITH ORDINALITY AS queues (id, n)
CROSS JOIN LATERAL hk.newest_jobs(queues.id, NULL) AS jobs
WHERE strpos(job, $2) > 0 ORDER BY n, at_position DESC;
