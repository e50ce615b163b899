-- heartbeat: stores a process.
INSERT INTO process (identity, info, concurrency, busy, beat, quiet, rss, boot, ends)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (identity) DO UPDATE SET
  info = excluded.info, concurrency = excluded.concurrency, busy = excluded.busy, beat = excluded.beat,
  quiet = excluded.quiet, rss = excluded.rss, boot = excluded.boot, ends = excluded.ends;

-- deleteDead: deletes processes without a heartbeat in time.
DELETE FROM process WHERE boot <> ? OR ends < ?;

-- dropSignals: deletes the signals for unknown processes.
DELETE FROM signal WHERE identity NOT IN (SELECT identity FROM process);

-- processes: returns all processes.
SELECT identity, info, concurrency, busy, beat, quiet, rss, boot, ends FROM process ORDER BY identity;

-- process: returns until when a process is alive.
SELECT boot, ends FROM process WHERE identity = ?;

-- delete: deletes a process.
DELETE FROM process WHERE identity = ?;

-- send: stores a signal for a process.
INSERT INTO signal (identity, name) VALUES (?, ?);

-- receive: deletes and returns the oldest signal for a process.
DELETE FROM signal WHERE id = (SELECT id FROM signal WHERE identity = ? ORDER BY id LIMIT 1) RETURNING name;

-- deleteRunning: deletes the running jobs of a process.
DELETE FROM running WHERE identity = ?;

-- dropRunning: deletes the running jobs of unknown processes.
DELETE FROM running WHERE identity NOT IN (SELECT identity FROM process);

-- addRunning: stores the running jobs of a process, as a JSON array of [slot, queue, text, started, progress or null].
INSERT INTO running (identity, slot, queue, text, started_at, progress)
SELECT ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?2);

-- running: returns the running jobs of all processes.
SELECT identity, slot, running.queue, text, started_at AS startedAt, progress, boot, ends
FROM running JOIN process USING (identity) ORDER BY identity, slot;
