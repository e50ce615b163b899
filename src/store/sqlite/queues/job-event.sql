-- start: starts a recording that ends at ?2, or extends it. ?1 is now, ?3 how many events it keeps or NULL, ?4 the default.
UPDATE hk_recording SET
  newest = CASE WHEN ends > ?1 THEN newest ELSE max(newest + 1, ?1 * 1000) END,
  confirmed = ends > ?1 AND confirmed,
  keep = coalesce(?3, CASE WHEN ends > ?1 THEN keep END, ?4),
  ends = ?2
RETURNING newest, confirmed;

-- confirm: marks the recording as confirmed.
UPDATE hk_recording SET confirmed = 1 WHERE ends > ? RETURNING newest;

-- state: returns when the recording ends.
SELECT ends FROM hk_recording;

-- end: forgets a recording that has ended.
UPDATE hk_recording SET ends = 0 WHERE ends <= ?;

-- grow: reserves numbers for events. No row: the store has no recording.
UPDATE hk_recording SET newest = newest + ? WHERE ends > ? RETURNING newest, keep;

-- add: stores the events of one step. newest is the number of the last of them.
INSERT INTO hk_job_event (newest, at, texts) VALUES (?, ?, ?);

-- trim: deletes events up to a number.
DELETE FROM hk_job_event WHERE newest <= ?;

-- deleteOld: deletes events before a time, except the newest.
DELETE FROM hk_job_event WHERE at < ? AND newest < (SELECT newest FROM hk_recording);

-- deleteAll: deletes all events.
DELETE FROM hk_job_event;

-- read: returns the recording, and the events from a number on as a JSON array of [number of the last, events].
SELECT newest, ends, (SELECT json_group_array(json_array(newest, json(texts)))
  FROM (SELECT newest, texts FROM hk_job_event WHERE newest >= ?1 ORDER BY newest LIMIT ?2)) AS entries
FROM hk_recording;
