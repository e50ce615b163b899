-- Ids and payloads are looked up one by one: see waiting.sql. Each statement fits one index: by the hash of id and text, or,
-- with `score > '-Infinity'`, which is true of each payload, by score.

-- add: adds payloads of ids to the waiting ones ($2 = 0), each with the smaller score, or to the dead ones ($2 = 1), which keep
-- their scores. The call names a payload of an id once. Returns how many of an id are new.
WITH given AS (SELECT * FROM unnest($3::text[], $4::float8[], $5::text[]) AS named(id, score, text)),
lowered AS (
  UPDATE hk.ordered_payload AS p SET score = given.score FROM given CROSS JOIN LATERAL (
    SELECT ctid FROM hk.ordered_payload
    WHERE hashtextextended(text, hashtextextended(id, 0)) = hashtextextended(given.text, hashtextextended(given.id, 0))
    AND queue = $1 AND id = given.id AND dead = 0 AND text = given.text AND score > given.score OFFSET 0
  ) AS found
  WHERE $2::bigint = 0 AND p.ctid = found.ctid
),
added AS (
  INSERT INTO hk.ordered_payload (queue, id, dead, score, text)
  SELECT $1, given.id, $2::bigint, given.score, given.text FROM given LEFT JOIN LATERAL (
    SELECT 1 AS one FROM hk.ordered_payload
    WHERE hashtextextended(text, hashtextextended(id, 0)) = hashtextextended(given.text, hashtextextended(given.id, 0))
    AND queue = $1 AND id = given.id AND dead = $2::bigint AND text = given.text LIMIT 1
  ) AS known ON true
  WHERE known.one IS NULL RETURNING id
)
SELECT id, count(*) AS n FROM added GROUP BY id;

-- move: moves payloads of ids up to (score, text): the waiting ones ($3 = 0) to the dead ones, which keep their scores, or the
-- dead ones ($3 = 1) to the waiting ones, each with the smaller score. Returns how many of an id were moved, and how many of
-- them are new there.
WITH moved AS (
  DELETE FROM hk.ordered_payload AS p USING unnest($2::text[]) AS named(id) CROSS JOIN LATERAL (
    SELECT ctid FROM hk.ordered_payload
    WHERE queue = $1 AND id = named.id AND dead = $3::bigint AND score > '-Infinity' AND (score, text) <= ($4, $5) OFFSET 0
  ) AS found
  WHERE p.ctid = found.ctid RETURNING p.id, p.score, p.text
),
lowered AS (
  UPDATE hk.ordered_payload AS p SET score = moved.score FROM moved CROSS JOIN LATERAL (
    SELECT ctid FROM hk.ordered_payload
    WHERE hashtextextended(text, hashtextextended(id, 0)) = hashtextextended(moved.text, hashtextextended(moved.id, 0))
    AND queue = $1 AND id = moved.id AND dead = 0 AND text = moved.text AND score > moved.score OFFSET 0
  ) AS found
  WHERE $3 = 1 AND p.ctid = found.ctid
),
added AS (
  INSERT INTO hk.ordered_payload (queue, id, dead, score, text)
  SELECT $1, moved.id, 1 - $3, moved.score, moved.text FROM moved LEFT JOIN LATERAL (
    SELECT 1 AS one FROM hk.ordered_payload
    WHERE hashtextextended(text, hashtextextended(id, 0)) = hashtextextended(moved.text, hashtextextended(moved.id, 0))
    AND queue = $1 AND id = moved.id AND dead = 1 - $3 AND text = moved.text LIMIT 1
  ) AS known ON true
  WHERE known.one IS NULL RETURNING id
)
SELECT id, count(*) AS moved, (SELECT count(*) FROM added WHERE added.id = moved.id) AS added FROM moved GROUP BY id;

-- lowest: returns the first payloads of each id by (score, text), as many as are asked for; null: all of them.
SELECT named.id, lowest.score, lowest.text FROM unnest($2::text[], $3::bigint[]) AS named(id, most) CROSS JOIN LATERAL (
  SELECT score, text FROM hk.ordered_payload WHERE queue = $1 AND id = named.id AND dead = $4 AND score > '-Infinity'
  ORDER BY score, left(text, 100), text LIMIT named.most
) AS lowest ORDER BY named.id, score, text;

-- drain: deletes the first waiting payloads of each id by (score, text), as many as are asked for, and returns them.
WITH taken AS (
  DELETE FROM hk.ordered_payload AS p USING unnest($2::text[], $3::bigint[]) AS named(id, most) CROSS JOIN LATERAL (
    SELECT ctid FROM hk.ordered_payload WHERE queue = $1 AND id = named.id AND dead = 0 AND score > '-Infinity'
    ORDER BY score, left(text, 100), text LIMIT named.most
  ) AS found
  WHERE p.ctid = found.ctid RETURNING p.id, p.score, p.text
)
SELECT id, score, text FROM taken ORDER BY id, score, text;

-- sizes: returns the bytes of the first $3 waiting payloads of each id, by (score, text).
SELECT named.id, ARRAY(
  SELECT octet_length(text) FROM hk.ordered_payload WHERE queue = $1 AND id = named.id AND dead = 0 AND score > '-Infinity'
  ORDER BY score, left(text, 100), text LIMIT $3
) AS sizes
FROM unnest($2::text[]) AS named(id);

-- dropOne: deletes one waiting payload.
DELETE FROM hk.ordered_payload
WHERE queue = $1 AND id = $2 AND dead = 0 AND text = $3
AND hashtextextended(text, hashtextextended(id, 0)) = hashtextextended($3::text, hashtextextended($2::text, 0));

-- countDead: counts the dead payloads of each id, up to a number.
SELECT named.id, (
  SELECT count(*) FROM (
    SELECT 1 FROM hk.ordered_payload WHERE queue = $1 AND id = named.id AND dead = 1 AND score > '-Infinity' LIMIT $3
  ) AS counted
) AS n
FROM unnest($2::text[]) AS named(id);

-- at: reads the payload of a rank by (score, text).
SELECT score, text FROM hk.ordered_payload WHERE queue = $1 AND id = $2 AND dead = $3 AND score > '-Infinity'
ORDER BY score, left(text, 100), text LIMIT 1 OFFSET $4;

-- drop: deletes the payloads of ids up to (score, text).
DELETE FROM hk.ordered_payload AS p USING unnest($2::text[]) AS named(id) CROSS JOIN LATERAL (
  SELECT ctid FROM hk.ordered_payload
  WHERE queue = $1 AND id = named.id AND dead = $3 AND score > '-Infinity' AND (score, text) <= ($4, $5) OFFSET 0
) AS found
WHERE p.ctid = found.ctid;
