-- add: adds payloads of an id that are not there.
INSERT INTO hk_ordered_payload (queue, dead, id, score, text) VALUES (?1, ?2, ?, ?, ?) ON CONFLICT DO NOTHING;

-- lower: stores a smaller score.
UPDATE hk_ordered_payload SET score = ?4 WHERE queue = ?1 AND id = ?2 AND dead = 0 AND text = ?3 AND score > ?4;

-- lowest: returns the first payloads by (score, text).
SELECT json_group_array(json_array(text, format('%!.17g', score))) AS json
FROM (
  SELECT text, score FROM hk_ordered_payload WHERE queue = ?1 AND id = ?2 AND dead = ?3 ORDER BY score, text LIMIT ?4
);

-- sizes: returns the bytes of the first waiting payloads, by (score, text).
SELECT json_group_array(bytes) AS json
FROM (
  SELECT octet_length(text) AS bytes FROM hk_ordered_payload WHERE queue = ? AND id = ? AND dead = 0
  ORDER BY score, text LIMIT ?
);

-- dropOne: deletes one waiting payload.
DELETE FROM hk_ordered_payload WHERE queue = ? AND id = ? AND dead = 0 AND text = ?;

-- countDead: counts dead payloads, up to a number.
SELECT count(*) AS n FROM (SELECT 1 FROM hk_ordered_payload WHERE queue = ? AND id = ? AND dead = 1 LIMIT ?);

-- at: reads the payload of a rank by (score, text).
SELECT json_group_array(json_array(text, format('%!.17g', score))) AS json
FROM (
  SELECT text, score FROM hk_ordered_payload WHERE queue = ?1 AND id = ?2 AND dead = ?3
  ORDER BY score, text LIMIT 1 OFFSET ?4
);

-- drop: deletes the payloads up to (score, text).
DELETE FROM hk_ordered_payload WHERE queue = ? AND id = ? AND dead = ? AND (score, text) <= (?, ?);

-- kill: copies the waiting payloads up to (score, text) to the dead ones. Those that are dead already keep their scores.
INSERT INTO hk_ordered_payload (queue, id, dead, score, text)
SELECT queue, id, 1, score, text FROM hk_ordered_payload
WHERE queue = ? AND id = ? AND dead = 0 AND (score, text) <= (?, ?) ON CONFLICT DO NOTHING;

-- resurrect: copies the dead payloads up to (score, text) to the waiting ones, each with the smaller score.
INSERT INTO hk_ordered_payload (queue, id, dead, score, text)
SELECT queue, id, 0, score, text FROM hk_ordered_payload
WHERE queue = ? AND id = ? AND dead = 1 AND (score, text) <= (?, ?)
ON CONFLICT (queue, id, dead, text) DO UPDATE SET score = min(score, excluded.score);

-- countNew: counts the dead payloads up to (score, text) that do not wait.
SELECT count(*) AS n FROM hk_ordered_payload AS d
WHERE queue = ? AND id = ? AND dead = 1 AND (score, text) <= (?, ?) AND NOT EXISTS (
  SELECT 1 FROM hk_ordered_payload AS w WHERE w.queue = d.queue AND w.id = d.id AND w.dead = 0 AND w.text = d.text
);
