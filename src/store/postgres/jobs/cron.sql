-- list: returns the entries of these names (NULL: all entries), in order. An end that is more than $2 seconds away is from before
-- the clock was set back.
SELECT name, text, tick, paused, jid, pushed_at AS "pushedAt", runs,
  ends > now.millis AND ends <= now.millis + $2::bigint * 1000 + 1000 AS alive
FROM hk.cron, (SELECT hk.micros() / 1000 AS millis) AS now
WHERE $1::text[] IS NULL OR name = ANY($1::text[]) ORDER BY name;

-- create: creates an entry. No change: there is one of this name.
INSERT INTO hk.cron (name, text, tick, ends) VALUES ($1, $2, coalesce($3::bigint, 0), hk.micros() / 1000 + $4::double precision * 1000)
ON CONFLICT DO NOTHING;

-- change: changes an entry, and stores that a living process defines it; its decided ticks stay decided.
UPDATE hk.cron SET text = $1, tick = greatest(tick, $2::bigint), ends = hk.micros() / 1000 + $3::double precision * 1000
WHERE name = $4 AND text = $5;

-- keepAlive: stores that a living process defines an entry as it is.
UPDATE hk.cron SET ends = hk.micros() / 1000 + $1::double precision * 1000 WHERE name = $2 AND text = $3;

-- skip: decides a tick without a push.
UPDATE hk.cron SET tick = $1 WHERE name = $2;

-- push: decides a tick and stores its job.
UPDATE hk.cron SET tick = $1, jid = $2, pushed_at = $3, runs = $4 WHERE name = $5;

-- pause: pauses an entry.
UPDATE hk.cron SET paused = 1 WHERE name = $1;

-- resume: resumes an entry from now on. An entry that is not paused does not change.
UPDATE hk.cron SET tick = CASE WHEN paused = 1 THEN greatest(tick, $1::bigint) ELSE tick END, paused = 0 WHERE name = $2;

-- delete: deletes an entry.
DELETE FROM hk.cron WHERE name = $1;
