-- add: payloads of an id, but for those that are there.
INSERT INTO ordered_payload (queue, dead, id, score, text) VALUES (?1, ?2, ?, ?, ?) ON CONFLICT DO NOTHING;

-- lower: one that is there keeps the smaller score.
UPDATE ordered_payload SET score = ?4 WHERE queue = ?1 AND id = ?2 AND dead = 0 AND text = ?3 AND score > ?4;

-- lowest: the first ones by (score, text).
SELECT json_group_array(json_array(text, format('%!.17g', score))) AS json
FROM (
  SELECT text, score FROM ordered_payload WHERE queue = ?1 AND id = ?2 AND dead = ?3 ORDER BY score, text LIMIT ?4
);

-- sizes: bytes of the first ones that wait, by (score, text).
SELECT json_group_array(bytes) AS json
FROM (
  SELECT octet_length(text) AS bytes FROM ordered_payload WHERE queue = ? AND id = ? AND dead = 0
  ORDER BY score, text LIMIT ?
);

-- dropTo: takes away those that wait, up to (score, text).
DELETE FROM ordered_payload WHERE queue = ? AND id = ? AND dead = 0 AND (score, text) <= (?, ?);

-- drop: takes all away.
DELETE FROM ordered_payload WHERE queue = ? AND id = ? AND dead = ?;

-- dropOne: takes one that waits away.
DELETE FROM ordered_payload WHERE queue = ? AND id = ? AND dead = 0 AND text = ?;

-- bury: what waits of an id is dead as well, with its scores; what is dead already keeps its own.
INSERT INTO ordered_payload (queue, id, dead, score, text)
SELECT queue, id, 1, score, text FROM ordered_payload WHERE queue = ? AND id = ? AND dead = 0 ON CONFLICT DO NOTHING;

-- raise: what is dead of an id waits as well, each payload with the smaller score.
INSERT INTO ordered_payload (queue, id, dead, score, text)
SELECT queue, id, 0, score, text FROM ordered_payload WHERE queue = ? AND id = ? AND dead = 1
ON CONFLICT (queue, id, dead, text) DO UPDATE SET score = min(score, excluded.score);

-- count: how many there are.
SELECT count(*) AS n FROM ordered_payload WHERE queue = ? AND id = ? AND dead = ?;

-- countTo: counts payloads, up to a number.
SELECT count(*) AS n FROM (SELECT 1 FROM ordered_payload WHERE queue = ? AND id = ? AND dead = ? LIMIT ?);

-- at: reads the payload of a rank by (score, text).
SELECT json_group_array(json_array(text, format('%!.17g', score))) AS json
FROM (
  SELECT text, score FROM ordered_payload WHERE queue = ?1 AND id = ?2 AND dead = ?3
  ORDER BY score, text LIMIT 1 OFFSET ?4
);

-- dropUpTo: deletes the payloads up to (score, text).
DELETE FROM ordered_payload WHERE queue = ? AND id = ? AND dead = ? AND (score, text) <= (?, ?);

-- buryUpTo: does the same as bury for the payloads up to (score, text).
INSERT INTO ordered_payload (queue, id, dead, score, text)
SELECT queue, id, 1, score, text FROM ordered_payload
WHERE queue = ? AND id = ? AND dead = 0 AND (score, text) <= (?, ?) ON CONFLICT DO NOTHING;

-- raiseUpTo: does the same as raise for the payloads up to (score, text).
INSERT INTO ordered_payload (queue, id, dead, score, text)
SELECT queue, id, 0, score, text FROM ordered_payload
WHERE queue = ? AND id = ? AND dead = 1 AND (score, text) <= (?, ?)
ON CONFLICT (queue, id, dead, text) DO UPDATE SET score = min(score, excluded.score);

-- newUpTo: counts the dead payloads up to (score, text) that do not wait.
SELECT count(*) AS n FROM ordered_payload AS d
WHERE queue = ? AND id = ? AND dead = 1 AND (score, text) <= (?, ?) AND NOT EXISTS (
  SELECT 1 FROM ordered_payload AS w WHERE w.queue = d.queue AND w.id = d.id AND w.dead = 0 AND w.text = d.text
);
