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
