-- deleteOld: deletes cancellations older than ?1, and those of jobs dropped before ?2.
DELETE FROM hk_cancellation WHERE version BETWEEN 1 AND ?1 OR version BETWEEN -?2 AND -1;

-- prune: keeps only the newest ? cancellations.
DELETE FROM hk_cancellation WHERE jid IN (SELECT jid FROM hk_cancellation ORDER BY version DESC LIMIT -1 OFFSET ?);

-- version: returns the version of a job's cancellation.
SELECT version FROM hk_cancellation WHERE jid = ?;

-- next: makes the version of a new cancellation, a multiple of ?2.
UPDATE hk_newest_cancellation SET version = max(version + 1, ?1) + ?2 - 1 - (max(version + 1, ?1) + ?2 - 1) % ?2
  RETURNING version;

-- set: stores a cancellation.
INSERT INTO hk_cancellation (jid, version) VALUES (?1, ?2) ON CONFLICT (jid) DO UPDATE SET version = excluded.version;

-- unset: deletes a job's cancellation.
DELETE FROM hk_cancellation WHERE jid = ?;

-- among: returns the jobs of a JSON array that have a cancellation, as a JSON array: drivers cut a column at NUL.
SELECT json_group_array(jid) AS json FROM hk_cancellation WHERE version > 0 AND jid IN (SELECT value FROM json_each(?));

-- newest: returns the newest version.
SELECT version FROM hk_newest_cancellation;

-- since: returns cancellations after a version, oldest first, as a JSON array of [jid, version].
SELECT json_group_array(json_array(jid, version)) AS json
FROM (SELECT jid, version FROM hk_cancellation WHERE version > ? ORDER BY version LIMIT ?);
