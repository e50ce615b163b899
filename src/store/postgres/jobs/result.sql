-- keep: stores a result in place of an earlier one, and deletes some that are not kept any longer. It waits for no other caller
-- that deletes them.
WITH old AS (
  DELETE FROM hk.result WHERE jid IN (
    SELECT jid FROM hk.result WHERE ends <= hk.micros() / 1000 AND jid <> $1 ORDER BY ends LIMIT 100 FOR UPDATE SKIP LOCKED
  )
)
INSERT INTO hk.result (jid, text, ends) VALUES ($1, $2, hk.micros() / 1000 + $3::bigint)
ON CONFLICT (jid) DO UPDATE SET text = excluded.text, ends = excluded.ends;

-- find: returns a result that is still kept.
SELECT text FROM hk.result WHERE jid = $1 AND ends > hk.micros() / 1000;

-- delete: deletes the results of jobs that start over.
DELETE FROM hk.result WHERE jid = ANY($1::text[]);

-- remembered: returns the value of a key.
SELECT value FROM hk.memory WHERE key = $1 AND ends > hk.micros() / 1000;

-- remember: stores a value until a time, which may be past, and deletes some others that are not kept any longer.
WITH old AS (
  DELETE FROM hk.memory WHERE key IN (SELECT key FROM hk.memory WHERE ends <= hk.micros() / 1000 AND key <> $1 ORDER BY ends LIMIT 1000)
)
INSERT INTO hk.memory (key, value, ends) VALUES ($1, $2, hk.micros() / 1000 + $3::bigint)
ON CONFLICT (key) DO UPDATE SET value = excluded.value, ends = excluded.ends;

-- secret: stores a secret if there is none of this name, and returns the stored one.
INSERT INTO hk.secret AS s (name, text) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET text = s.text RETURNING text;

-- linkVersion: returns the version of the links to a list.
SELECT version FROM hk.link_version WHERE list = $1;

-- raiseLinkVersion: raises it by one, or to a number if that is not 0.
INSERT INTO hk.link_version AS l (list, version) VALUES ($1, greatest($2::bigint, 1))
ON CONFLICT (list) DO UPDATE SET version = CASE WHEN $2 = 0 THEN l.version + 1 ELSE greatest(l.version, $2) END;

-- linkVersions: returns all versions.
SELECT list, version FROM hk.link_version;
