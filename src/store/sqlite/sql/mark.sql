-- pause: nobody takes from a queue; harmless when nobody does.
INSERT INTO paused (queue) VALUES (?) ON CONFLICT DO NOTHING;

-- resume: everybody may again.
DELETE FROM paused WHERE queue = ?;

-- paused: names of the queues that nobody takes from.
SELECT queue FROM paused ORDER BY queue;

-- old: forgets marks that are older than ?1, and jobs dropped before ?2.
DELETE FROM mark WHERE version BETWEEN 1 AND ?1 OR version BETWEEN -?2 AND -1;

-- excess: forgets the oldest marks, but for the newest ?.
DELETE FROM mark WHERE jid IN (SELECT jid FROM mark ORDER BY version DESC LIMIT -1 OFFSET ?);

-- version: of a job's mark.
SELECT version FROM mark WHERE jid = ?;

-- next: the version of a mark that is set now.
UPDATE newest_mark SET version = max(version + 1, ?) RETURNING version;

-- set: marks a job.
INSERT INTO mark (jid, version) VALUES (?1, ?2) ON CONFLICT (jid) DO UPDATE SET version = excluded.version;

-- unset: takes a job's mark back.
DELETE FROM mark WHERE jid = ?;

-- among: those of a JSON array of jobs that are marked.
SELECT jid FROM mark WHERE version > 0 AND jid IN (SELECT value FROM json_each(?));

-- newest: the newest version.
SELECT version FROM newest_mark;

-- since: marks behind a version, oldest first.
SELECT jid, version FROM mark WHERE version > ? ORDER BY version LIMIT ?;
