-- forgetOld: forgets what was stored before a time.
DELETE FROM pushed_once WHERE at < ?;

-- remember: a row, unless the job was stored before.
INSERT INTO pushed_once (jid, at) VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING jid;
