-- heartbeat: stores a process.
INSERT INTO hk_process (identity, info, concurrency, busy, beat, quiet, rss, boot, ends)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (identity) DO UPDATE SET
  info = excluded.info, concurrency = excluded.concurrency, busy = excluded.busy, beat = excluded.beat,
  quiet = excluded.quiet, rss = excluded.rss, boot = excluded.boot, ends = excluded.ends;

-- deleteDead: deletes processes without a heartbeat in time.
DELETE FROM hk_process WHERE boot <> ? OR ends < ?;

-- dropSignals: deletes the signals for unknown processes.
DELETE FROM hk_signal WHERE identity NOT IN (SELECT identity FROM hk_process);

-- processes: returns all processes.
SELECT identity, info, concurrency, busy, beat, quiet, rss, boot, ends FROM hk_process ORDER BY identity;

-- process: returns until when a process is alive.
SELECT boot, ends FROM hk_process WHERE identity = ?;

-- delete: deletes a process.
DELETE FROM hk_process WHERE identity = ?;

-- send: stores a signal for a process.
INSERT INTO hk_signal (identity, name) VALUES (?, ?);

-- receive: deletes and returns the oldest signal for a process.
DELETE FROM hk_signal WHERE id = (SELECT id FROM hk_signal WHERE identity = ? ORDER BY id LIMIT 1) RETURNING name;

-- deleteRunning: deletes the running jobs of a process.
DELETE FROM hk_running WHERE identity = ?;

-- dropRunning: deletes the running jobs of unknown processes.
DELETE FROM hk_running WHERE identity NOT IN (SELECT identity FROM hk_process);

-- addRunning: stores the running jobs of a process, as a JSON array of [slot, queue, text, started, progress or null].
INSERT INTO hk_running (identity, slot, queue, text, started_at, progress)
SELECT ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?2);

-- showRunning: stores running jobs of a known process, in the same form, each in place of the one with its slot.
INSERT INTO hk_running (identity, slot, queue, text, started_at, progress)
SELECT ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?2)
WHERE EXISTS (SELECT 1 FROM hk_process WHERE identity = ?1)
ON CONFLICT (identity, slot) DO UPDATE SET
  queue = excluded.queue, text = excluded.text, started_at = excluded.started_at, progress = excluded.progress;

-- removeRunning: deletes the running jobs of a process with these slots, a JSON array.
DELETE FROM hk_running WHERE identity = ?1 AND slot IN (SELECT value FROM json_each(?2));

-- running: returns the running jobs of all processes.
SELECT identity, slot, running.queue, text, started_at AS startedAt, progress, boot, ends
FROM hk_running AS running JOIN hk_process USING (identity) ORDER BY identity, slot;
