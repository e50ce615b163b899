-- find: returns the id of a set.
SELECT id FROM hk_job_set WHERE name = ?;

-- create: creates a set if it does not exist.
INSERT INTO hk_job_set (name) VALUES (?) ON CONFLICT DO NOTHING;

-- add: adds an entry. No row: the set has this text with this score already.
INSERT INTO hk_entry ("set", score, text) VALUES (?, ?, ?) ON CONFLICT DO NOTHING RETURNING score;

-- addAll: adds entries: ?4 has the bytes of all texts, ?3 says where they are (see putAll), and ?2 is a JSON array of the scores.
INSERT INTO hk_entry ("set", score, text)
SELECT ?1, ?2 ->> key, CAST(substr(?4, (value >> 25) + 1, value & 33554431) AS TEXT) FROM json_each(?3)
WHERE true ON CONFLICT DO NOTHING;

-- grow: changes the size of a set.
UPDATE hk_job_set SET size = size + ? WHERE id = ?;

-- due: returns the entries up to a score, lowest first.
SELECT score, text FROM hk_entry WHERE "set" = ? AND score <= ? ORDER BY score, text LIMIT ?;

-- next: returns the score of the entry at a rank.
SELECT score FROM hk_entry WHERE "set" = ? ORDER BY score, text LIMIT 1 OFFSET ?;

-- remove: deletes an entry if it is unchanged.
DELETE FROM hk_entry WHERE "set" = ? AND score = ? AND text = ? RETURNING score;

-- countBelow: counts the entries below a score, up to a number.
SELECT count(*) AS old FROM (SELECT 1 FROM hk_entry WHERE "set" = ? AND score < ? LIMIT ?);

-- atUp: returns the entry at a rank, lowest first.
SELECT score, text FROM hk_entry WHERE "set" = ? ORDER BY score, text LIMIT 1 OFFSET ?;

-- removeTo: deletes the entries up to (score, text).
DELETE FROM hk_entry WHERE "set" = ? AND (score, text) <= (?, ?);

-- textsTo: returns the texts of the entries up to (score, text) that contain a needle.
SELECT text FROM hk_entry WHERE "set" = ? AND (score, text) <= (?, ?) AND instr(text, ?) > 0;

-- size: returns the number of entries.
SELECT size FROM hk_job_set WHERE id = ?;

-- pageUp: returns entries from behind (score, text) on, lowest first.
SELECT score, text FROM hk_entry WHERE "set" = ?1 AND (score, text) > (?2, ?3) ORDER BY score, text LIMIT ?4;

-- pageDown: returns entries from before (score, text) on, highest first.
SELECT score, text FROM hk_entry WHERE "set" = ?1 AND (score, text) < (?2, ?3)
ORDER BY score DESC, text DESC LIMIT ?4;

-- lengthsDown: returns the sizes of the entries before (score, text), highest first.
SELECT octet_length(text) AS bytes FROM hk_entry WHERE "set" = ?1 AND (score, text) < (?2, ?3)
ORDER BY score DESC, text DESC LIMIT ?4;

-- atDown: returns the entry at a rank before (score, text).
SELECT score, text FROM hk_entry WHERE "set" = ?1 AND (score, text) < (?2, ?3)
ORDER BY score DESC, text DESC LIMIT 1 OFFSET ?4;

-- countDown: counts the entries before (score, text) and from another one on.
SELECT count(*) AS n FROM hk_entry WHERE "set" = ?1 AND (score, text) < (?2, ?3) AND (score, text) >= (?4, ?5);

-- search: returns entries before (score, text) and from another one on that contain a text, highest first.
SELECT score, text FROM hk_entry
WHERE "set" = ?1 AND (score, text) < (?2, ?3) AND (score, text) >= (?4, ?5) AND instr(text, ?6) > 0
ORDER BY score DESC, text DESC LIMIT ?7;

-- finished: returns finished jobs that contain a jid, latest first: ?1 and ?2 are those of finishedArgs. Without
-- statistics SQLite would not choose the index.
SELECT score, text FROM hk_entry INDEXED BY hk_finished_by_jid
WHERE "set" = -1 AND CASE WHEN instr(substr(text, instr(text, '"jid"') + 5), '"jid"') > 0 THEN '' ELSE substr(
  ltrim(substr(text, instr(text, '"jid"') + 5), ': ' || char(9, 10, 13)),
  2,
  min(instr(substr(ltrim(substr(text, instr(text, '"jid"') + 5), ': ' || char(9, 10, 13)), 2), '"') - 1, 100)
) END IN (?1, '') AND instr(text, ?2) > 0
ORDER BY score DESC;

-- lengthsUp: returns the sizes of the lowest entries.
SELECT octet_length(text) AS bytes FROM hk_entry WHERE "set" = ? ORDER BY score, text LIMIT ?;
