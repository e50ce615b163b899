-- heartbeat: stores a process for $8 ms. Returns whether it was listed already.
WITH before AS (
  SELECT 1 FROM hk.process WHERE identity = $1 AND ends > extract(epoch FROM clock_timestamp()) * 1000
)
INSERT INTO hk.process (identity, info, concurrency, busy, beat, quiet, rss, ends)
VALUES ($1, $2, $3, $4, $5, $6, $7, extract(epoch FROM clock_timestamp()) * 1000 + $8)
ON CONFLICT (identity) DO UPDATE SET
  info = excluded.info, concurrency = excluded.concurrency, busy = excluded.busy, beat = excluded.beat,
  quiet = excluded.quiet, rss = excluded.rss, ends = excluded.ends
RETURNING EXISTS (SELECT 1 FROM before) AS known;

-- deleteDead: deletes processes without a heartbeat in time, with their signals and running jobs.
DELETE FROM hk.process WHERE ends < extract(epoch FROM clock_timestamp()) * 1000;

-- processes: returns the processes.
SELECT identity, info, concurrency, busy, beat, quiet, rss FROM hk.process
WHERE ends > extract(epoch FROM clock_timestamp()) * 1000 ORDER BY identity;

-- delete: deletes a process with its signals and running jobs.
DELETE FROM hk.process WHERE identity = $1;

-- send: stores a signal for a process, if it is listed.
INSERT INTO hk.signal (identity, name)
SELECT identity, $2 FROM hk.process WHERE identity = $1 AND ends > extract(epoch FROM clock_timestamp()) * 1000;

-- receive: deletes and returns the oldest signal for a process.
DELETE FROM hk.signal WHERE id = (SELECT id FROM hk.signal WHERE identity = $1 ORDER BY id LIMIT 1) RETURNING name;

-- deleteRunning: deletes the running jobs of a process.
DELETE FROM hk.running WHERE identity = $1;

-- showRunning: stores running jobs of a known process, each in place of the one with its slot.
INSERT INTO hk.running (identity, slot, queue, text, started_at, progress)
SELECT $1, slot, queue, text, started_at, progress
FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[]) AS jobs (slot, queue, text, started_at, progress)
WHERE EXISTS (SELECT 1 FROM hk.process WHERE identity = $1)
ON CONFLICT (identity, slot) DO UPDATE SET
  queue = excluded.queue, text = excluded.text, started_at = excluded.started_at, progress = excluded.progress;

-- removeRunning: deletes the running jobs of a process with these slots.
DELETE FROM hk.running WHERE identity = $1 AND slot = ANY ($2::text[]);

-- running: returns the running jobs of all processes.
SELECT identity, slot, running.queue, text, started_at AS "startedAt", progress
FROM hk.running AS running JOIN hk.process AS process USING (identity)
WHERE ends > extract(epoch FROM clock_timestamp()) * 1000 ORDER BY identity, slot;
