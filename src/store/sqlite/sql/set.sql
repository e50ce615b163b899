-- add: one entry; no row when this very text stands at this very score already.
INSERT INTO entry ("set", score, text) VALUES (?, ?, ?) ON CONFLICT DO NOTHING RETURNING score;

-- grow: the set has more (or fewer) entries.
UPDATE sorted_set SET size = size + ? WHERE id = ?;

-- due: the entries up to a score, lowest first.
SELECT score, text FROM entry WHERE "set" = ? AND score <= ? ORDER BY score, text LIMIT ?;

-- next: the score of the entry at a rank.
SELECT score FROM entry WHERE "set" = ? ORDER BY score, text LIMIT 1 OFFSET ?;

-- remove: an entry, only as it was read.
DELETE FROM entry WHERE "set" = ? AND score = ? AND text = ? RETURNING score;

-- size: how many entries.
SELECT size FROM sorted_set WHERE id = ?;

-- pageUp: from behind (score, text) on, lowest first.
SELECT score, text FROM entry WHERE "set" = ?1 AND (score, text) > (?2, ?3) ORDER BY score, text LIMIT ?4;

-- pageDown: from before (score, text) on, highest first.
SELECT score, text FROM entry WHERE "set" = ?1 AND (score, text) < (?2, ?3)
ORDER BY score DESC, text DESC LIMIT ?4;

-- firstUp: from the lowest on.
SELECT score, text FROM entry WHERE "set" = ? ORDER BY score, text LIMIT ?;

-- firstDown: from the highest on.
SELECT score, text FROM entry WHERE "set" = ? ORDER BY score DESC, text DESC LIMIT ?;

-- lengthsDown: scores and lengths of the entries before (score, text), highest first.
SELECT score, octet_length(text) AS bytes FROM entry WHERE "set" = ?1 AND (score, text) < (?2, ?3)
ORDER BY score DESC, text DESC LIMIT ?4;

-- atDown: the entry at a rank before (score, text).
SELECT score, text FROM entry WHERE "set" = ?1 AND (score, text) < (?2, ?3)
ORDER BY score DESC, text DESC LIMIT 1 OFFSET ?4;

-- countDown: how many entries before (score, text) and from another one on.
SELECT count(*) AS n FROM entry WHERE "set" = ?1 AND (score, text) < (?2, ?3) AND (score, text) >= (?4, ?5);

-- search: entries before (score, text) and from another one on that contain a text, highest first.
SELECT score, text FROM entry
WHERE "set" = ?1 AND (score, text) < (?2, ?3) AND (score, text) >= (?4, ?5) AND instr(text, ?6) > 0
ORDER BY score DESC, text DESC LIMIT ?7;

-- lengthsUp: lengths of the lowest entries.
SELECT octet_length(text) AS bytes FROM entry WHERE "set" = ? ORDER BY score, text LIMIT ?;
