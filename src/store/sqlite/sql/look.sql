-- count: adds to the figures of a day ('' = all days).
INSERT INTO stat (day, processed, failed) VALUES (?, ?, ?)
ON CONFLICT (day) DO UPDATE SET processed = processed + excluded.processed, failed = failed + excluded.failed;

-- day: the figures of a day ('' = all days).
SELECT processed, failed FROM stat WHERE day = ?;

-- totals: jobs in queues, and rows held back by tasks.
SELECT (SELECT coalesce(sum(size), 0) FROM queue) AS enqueued, (SELECT coalesce(sum(held), 0) FROM task) AS held;

-- beat: shows a process.
INSERT INTO process (identity, info, concurrency, busy, beat, quiet, rss, boot, ends)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (identity) DO UPDATE SET
  info = excluded.info, concurrency = excluded.concurrency, busy = excluded.busy, beat = excluded.beat,
  quiet = excluded.quiet, rss = excluded.rss, boot = excluded.boot, ends = excluded.ends;

-- forgetDead: shows those no more who have not shown themselves in time, and drops what was sent to them.
DELETE FROM process WHERE boot <> ? OR ends < ?;

-- dropSignals: signals for nobody.
DELETE FROM signal WHERE identity NOT IN (SELECT identity FROM process);

-- processes: all that were shown.
SELECT identity, info, concurrency, busy, beat, quiet, rss, boot, ends FROM process ORDER BY identity;

-- process: whether a process was shown, and until when.
SELECT boot, ends FROM process WHERE identity = ?;

-- forget: shows a process no more.
DELETE FROM process WHERE identity = ?;

-- forgetSignals: nobody is there to obey.
DELETE FROM signal WHERE identity = ?;

-- send: a signal for a process.
INSERT INTO signal (identity, name) VALUES (?, ?);

-- receive: the oldest signal for a process.
DELETE FROM signal WHERE id = (SELECT id FROM signal WHERE identity = ? ORDER BY id LIMIT 1) RETURNING name;

-- reset: sets the total back to zero; once for each figure.
UPDATE stat SET processed = processed * ?1, failed = failed * ?2 WHERE day = '';

-- forgetRunning: what a process said before.
DELETE FROM running WHERE identity = ?;

-- dropRunning: what was said by those who are not there any more.
DELETE FROM running WHERE identity NOT IN (SELECT identity FROM process);

-- showRunning: what a process works on, as a JSON array of [slot, queue, text, started, progress or null].
INSERT INTO running (identity, slot, queue, text, started_at, progress)
SELECT ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?2);

-- running: what all of them said.
SELECT identity, slot, running.queue, text, started_at AS startedAt, progress, boot, ends
FROM running JOIN process USING (identity) ORDER BY identity, slot;
