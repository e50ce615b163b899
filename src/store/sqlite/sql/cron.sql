-- list: all entries, by their names.
SELECT * FROM cron ORDER BY name;

-- some: those of a JSON array of names.
SELECT * FROM cron WHERE name IN (SELECT value FROM json_each(?)) ORDER BY name;

-- find: one entry.
SELECT * FROM cron WHERE name = ?;

-- enter: a new entry; no row when there is one of that name.
INSERT INTO cron (name, text, tick, boot, ends) VALUES (?, ?, coalesce(?, 0), ?, ?) ON CONFLICT DO NOTHING RETURNING name;

-- keep: an entry that stands so has a process that lives.
UPDATE cron SET boot = ?, ends = ? WHERE name = ? AND text = ? RETURNING name;

-- change: an entry that stood so is another one from now on; what was decided stays so.
UPDATE cron SET text = ?, tick = max(tick, coalesce(?, tick)), boot = ?, ends = ? WHERE name = ? AND text = ? RETURNING name;

-- pass: a tick was decided.
UPDATE cron SET tick = ? WHERE name = ?;

-- push: a job was pushed.
UPDATE cron SET tick = ?, jid = ?, pushed_at = ? WHERE name = ?;

-- pause: it is not due until further notice.
UPDATE cron SET paused = 1 WHERE name = ? RETURNING name;

-- resume: it goes on from now; one that was not paused stays as it is.
UPDATE cron SET tick = iif(paused, max(tick, ?), tick), paused = 0 WHERE name = ? RETURNING name;

-- forget: strikes an entry off.
DELETE FROM cron WHERE name = ? RETURNING name;
