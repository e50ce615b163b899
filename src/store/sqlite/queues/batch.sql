-- load: returns a batch.
SELECT * FROM hk_batch WHERE bid = ?;

-- create: creates a batch. No change: it exists.
INSERT INTO hk_batch (bid, parent, depth, meta, on_complete, on_success, on_death, job, keep, created_at, progress_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- addMembers: adds members, waiting.
INSERT INTO hk_batch_member (bid, id, state) SELECT ?, value, 0 FROM json_each(?) WHERE true ON CONFLICT DO NOTHING;

-- member: returns the state of an open member.
SELECT state FROM hk_batch_member WHERE bid = ? AND id = ?;

-- setMember: changes the state of an open member.
UPDATE hk_batch_member SET state = ? WHERE bid = ? AND id = ?;

-- dropMember: removes a member that has ended.
DELETE FROM hk_batch_member WHERE bid = ? AND id = ?;

-- note: keeps a note in place of an earlier one.
INSERT INTO hk_batch_note (bid, key, text) VALUES (?, ?, ?) ON CONFLICT (bid, key) DO UPDATE SET text = excluded.text;

-- save: writes what changes in a batch.
UPDATE hk_batch SET on_complete = ?, on_success = ?, on_death = ?, job = ?, total = ?, pending = ?, retrying = ?, dead = ?,
  failed = ?, succeeded = ?, progress_at = ?, completed_at = ?, succeeded_at = ?, died_at = ?, expires_at = ?, cancelling = ?
WHERE bid = ?;

-- newest: returns the newest batches.
SELECT * FROM hk_batch ORDER BY created_at DESC, bid DESC LIMIT ?;

-- older: returns the newest batches before one.
SELECT * FROM hk_batch WHERE (created_at, bid) < (?, ?) ORDER BY created_at DESC, bid DESC LIMIT ?;

-- members: returns open members, as a JSON array of [id, state]: drivers cut a column at NUL.
SELECT json_group_array(json_array(id, state)) AS json
FROM (SELECT id, state FROM hk_batch_member WHERE bid = ? AND id > ? ORDER BY id LIMIT ?);

-- notes: returns the notes of a batch.
SELECT key, text FROM hk_batch_note WHERE bid = ?;

-- idle: returns batches with open members that had no progress since a time, behind one.
SELECT * FROM hk_batch WHERE pending + dead > 0 AND progress_at < ? AND (progress_at, bid) > (?, ?)
ORDER BY progress_at, bid LIMIT ?;

-- cancelling: returns batches that are being cancelled.
SELECT bid FROM hk_batch WHERE cancelling = 1 AND bid > ? ORDER BY bid LIMIT ?;

-- someOpen: returns a row if any batch has open members.
SELECT 1 FROM hk_batch WHERE pending + dead > 0 LIMIT 1;

-- someExpired: returns a row if any batch is kept no longer.
SELECT 1 FROM hk_batch WHERE expires_at <= ? LIMIT 1;

-- prune: deletes batches that are kept no longer.
DELETE FROM hk_batch WHERE bid IN (SELECT bid FROM hk_batch WHERE expires_at <= ? ORDER BY expires_at LIMIT ?) RETURNING bid;

-- dropNotes: deletes the notes of batches.
DELETE FROM hk_batch_note WHERE bid IN (SELECT value FROM json_each(?));
