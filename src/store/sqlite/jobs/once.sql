-- deleteOld: deletes the ids of old pushes.
DELETE FROM pushed_once WHERE at < ?;

-- remember: stores the id of a push. No row: it was pushed before.
INSERT INTO pushed_once (jid, at) VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING jid;
