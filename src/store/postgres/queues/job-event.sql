-- start: starts a recording that ends at $2, or extends it. $1 is now, $3 how many events it keeps or NULL, $4 the default.
UPDATE hk.recording SET
  newest = CASE WHEN ends > $1 THEN newest ELSE greatest(newest + 1, $1::bigint * 1000) END,
  confirmed = CASE WHEN ends > $1 THEN confirmed ELSE 0 END,
  keep = coalesce($3, CASE WHEN ends > $1 THEN keep END, $4),
  ends = $2
RETURNING newest, confirmed;

-- confirm: marks the recording as confirmed.
UPDATE hk.recording SET confirmed = 1 WHERE ends > $1 RETURNING newest;

-- state: returns when the recording ends.
SELECT ends FROM hk.recording;

-- end: forgets a recording that has ended.
UPDATE hk.recording SET ends = 0 WHERE ends <= $1;

-- first: stores the first event of a recording.
INSERT INTO hk.job_event (newest, at, texts) VALUES ($1, $2, $3);

-- append: stores the $1 events of one step. No row: the store has no recording. $4 is the clock of the caller's machine.
WITH grown AS (
  UPDATE hk.recording SET newest = newest + $1 WHERE ends > $2 - greatest($4::bigint - hk.micros() / 1000, 0) RETURNING newest, keep
), added AS (
  INSERT INTO hk.job_event (newest, at, texts) SELECT newest, $2, $3 FROM grown
)
SELECT newest, keep FROM grown;

-- trim: deletes events up to a number.
DELETE FROM hk.job_event WHERE newest <= $1;

-- deleteOld: deletes events before a time, except the newest.
DELETE FROM hk.job_event WHERE at < $1 AND newest < (SELECT newest FROM hk.recording);

-- deleteAll: deletes all events.
DELETE FROM hk.job_event;

-- read: returns the events from a number on, each row with the recording. Without events there is one row.
SELECT r.newest AS "newest", r.ends, e.newest AS "last", e.texts FROM hk.recording AS r
LEFT JOIN (SELECT newest, texts FROM hk.job_event WHERE newest >= $1 ORDER BY newest LIMIT $2) AS e ON true ORDER BY e.newest;
