-- list: returns the entries of a JSON array of names (NULL: all entries), in order.
SELECT name, text, tick, paused, jid, pushed_at AS pushedAt, boot, ends, runs FROM hk_cron
WHERE ?1 IS NULL OR name IN (SELECT value FROM json_each(?1)) ORDER BY name;

-- create: creates an entry. No row: there is one of this name.
INSERT INTO hk_cron (name, text, tick, boot, ends) VALUES (?, ?, coalesce(?, 0), ?, ?) ON CONFLICT DO NOTHING RETURNING name;

-- change: changes an entry, and stores that a living process defines it; its decided ticks stay decided.
UPDATE hk_cron SET text = ?, tick = max(tick, coalesce(?, tick)), boot = ?, ends = ? WHERE name = ? AND text = ? RETURNING name;

-- skip: decides a tick without a push.
UPDATE hk_cron SET tick = ? WHERE name = ?;

-- push: decides a tick and stores its job.
UPDATE hk_cron SET tick = ?, jid = ?, pushed_at = ?, runs = ? WHERE name = ?;

-- pause: pauses an entry.
UPDATE hk_cron SET paused = 1 WHERE name = ? RETURNING name;

-- resume: resumes an entry from now on. An entry that is not paused does not change.
UPDATE hk_cron SET tick = iif(paused, max(tick, ?), tick), paused = 0 WHERE name = ? RETURNING name;

-- delete: deletes an entry.
DELETE FROM hk_cron WHERE name = ? RETURNING name;
