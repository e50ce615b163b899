-- keep: keeps a text under a job's id, instead of the one before.
INSERT INTO result (jid, text, ends) VALUES (?, ?, ?)
ON CONFLICT (jid) DO UPDATE SET text = excluded.text, ends = excluded.ends;

-- find: a text that is still kept.
SELECT text FROM result WHERE jid = ? AND ends > ?;

-- forget: drops those whose time is over.
DELETE FROM result WHERE ends <= ?;

-- forgetMemory: values whose time is over.
DELETE FROM memory WHERE ends <= ?;

-- remember: keeps a value, until a time that may have come.
INSERT INTO memory (key, value, ends) VALUES (?, ?, ?)
ON CONFLICT (key) DO UPDATE SET value = excluded.value, ends = excluded.ends;

-- remembered: the value of a key.
SELECT value FROM memory WHERE key = ?;
