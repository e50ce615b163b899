-- keep: stores a result in place of an earlier one.
INSERT INTO hk_result (jid, text, ends) VALUES (?, ?, ?)
ON CONFLICT (jid) DO UPDATE SET text = excluded.text, ends = excluded.ends;

-- find: returns a result that is still kept.
SELECT text FROM hk_result WHERE jid = ? AND ends > ?;

-- delete: deletes the result of a job that starts over.
DELETE FROM hk_result WHERE jid = ?;

-- deleteOld: deletes results that are not kept any longer.
DELETE FROM hk_result WHERE ends <= ?;

-- deleteOldMemory: deletes values that are not kept any longer.
DELETE FROM hk_memory WHERE ends <= ?;

-- remember: stores a value until a time, which may be past.
INSERT INTO hk_memory (key, value, ends) VALUES (?, ?, ?)
ON CONFLICT (key) DO UPDATE SET value = excluded.value, ends = excluded.ends;

-- remembered: returns the value of a key.
SELECT value FROM hk_memory WHERE key = ?;

-- secret: stores a secret if there is none of this name, and returns the stored one.
INSERT INTO hk_secret (name, text) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET text = text RETURNING text;

-- linkVersion: returns the version of the links to a list.
SELECT version FROM hk_link_version WHERE list = ?;

-- raiseLinkVersion: raises it by one, or to a number if that is not 0.
INSERT INTO hk_link_version (list, version) VALUES (?1, max(?2, 1))
ON CONFLICT (list) DO UPDATE SET version = CASE WHEN ?2 = 0 THEN version + 1 ELSE max(version, ?2) END;

-- linkVersions: returns all versions.
SELECT list, version FROM hk_link_version;
