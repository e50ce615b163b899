-- find: returns the id of a set.
SELECT id FROM hk.job_set WHERE name = $1;

-- create: creates a set if it does not exist.
INSERT INTO hk.job_set (name) VALUES ($1) ON CONFLICT DO NOTHING;

-- add: adds entries to a set and to its size. Returns the number of those that are new; if the set had some already, also
-- the scores and texts of the new ones.
WITH added AS (
  INSERT INTO hk.entry (set_id, score, text) SELECT $1, score, text FROM unnest($2::float8[], $3::text[]) AS entries (score, text)
  ON CONFLICT DO NOTHING RETURNING score, text
), grown AS (
  UPDATE hk.job_set SET size = size + (SELECT count(*) FROM added) WHERE id = $1
)
SELECT count(*) AS added, CASE WHEN count(*) < cardinality($3::text[]) THEN array_agg(score) END AS scores,
  CASE WHEN count(*) < cardinality($3::text[]) THEN array_agg(text) END AS texts FROM added;

-- grow: changes the size of a set.
UPDATE hk.job_set SET size = size + $1 WHERE id = $2;

-- due: returns the entries up to a score, lowest first.
SELECT score, text FROM hk.entry WHERE set_id = $1 AND score <= $2 ORDER BY score, left(text, 200), text LIMIT $3;

-- next: returns the score of the entry at a rank.
SELECT score FROM hk.entry WHERE set_id = $1 ORDER BY score, left(text, 200), text LIMIT 1 OFFSET $2;

-- remove: deletes entries that are unchanged, and reduces the size of their set. Returns the numbers of those deleted, from 1 on.
WITH gone AS (
  DELETE FROM hk.entry AS entry USING unnest($2::float8[], $3::text[]) WITH ORDINALITY AS named (score, text, i)
  WHERE entry.set_id = $1 AND entry.score = named.score AND md5(entry.text) = md5(named.text) AND entry.text = named.text
  RETURNING named.i
), shrunk AS (
  UPDATE hk.job_set SET size = size - (SELECT count(*) FROM gone) WHERE id = $1 AND EXISTS (SELECT 1 FROM gone)
)
SELECT i FROM gone;

-- countBelow: counts the entries below a score, up to a number.
SELECT count(*) AS old FROM (SELECT 1 FROM hk.entry WHERE set_id = $1 AND score < $2 LIMIT $3) AS old;

-- atUp: returns the entry at a rank, lowest first.
SELECT score, text FROM hk.entry WHERE set_id = $1 ORDER BY score, left(text, 200), text LIMIT 1 OFFSET $2;

-- removeTo: deletes the entries up to (score, text), and reduces the size of their set. Returns their number.
WITH gone AS (
  DELETE FROM hk.entry WHERE set_id = $1 AND (score, left(text, 200), text) <= ($2::float8, left($3, 200), $3) RETURNING 1
), counted AS (
  SELECT count(*) AS removed FROM gone
)
UPDATE hk.job_set SET size = size - removed FROM counted WHERE id = $1 RETURNING removed;

-- textsTo: returns the texts of the entries up to (score, text) that contain a needle.
SELECT text FROM hk.entry
WHERE set_id = $1 AND (score, left(text, 200), text) <= ($2::float8, left($3, 200), $3) AND strpos(text, $4) > 0;

-- size: returns the number of entries.
SELECT size FROM hk.job_set WHERE id = $1;

-- pageUp: returns entries from behind (score, text) on, lowest first.
SELECT score, text FROM hk.entry WHERE set_id = $1 AND (score, left(text, 200), text) > ($2::float8, left($3, 200), $3)
ORDER BY score, left(text, 200), text LIMIT $4;

-- pageDown: returns entries from before (score, text) on, highest first.
SELECT score, text FROM hk.entry WHERE set_id = $1 AND (score, left(text, 200), text) < ($2::float8, left($3, 200), $3)
ORDER BY score DESC, left(text, 200) DESC, text DESC LIMIT $4;

-- lengthsDown: returns the sizes of the entries before (score, text), highest first.
SELECT octet_length(text) AS bytes FROM hk.entry WHERE set_id = $1 AND (score, left(text, 200), text) < ($2::float8, left($3, 200), $3)
ORDER BY score DESC, left(text, 200) DESC, text DESC LIMIT $4;

-- atDown: returns the entry at a rank before (score, text).
SELECT score, text FROM hk.entry WHERE set_id = $1 AND (score, left(text, 200), text) < ($2::float8, left($3, 200), $3)
ORDER BY score DESC, left(text, 200) DESC, text DESC LIMIT 1 OFFSET $4;

-- countDown: counts the entries before (score, text) and from another one on.
SELECT count(*) AS n FROM hk.entry WHERE set_id = $1 AND (score, left(text, 200), text) < ($2::float8, left($3, 200), $3)
AND (score, left(text, 200), text) >= ($4::float8, left($5, 200), $5);

-- search: returns entries before (score, text) and from another one on that contain a text, highest first.
SELECT score, text FROM hk.entry WHERE set_id = $1 AND (score, left(text, 200), text) < ($2::float8, left($3, 200), $3)
AND (score, left(text, 200), text) >= ($4::float8, left($5, 200), $5) AND strpos(text, $6) > 0
ORDER BY score DESC, left(text, 200) DESC, text DESC LIMIT $7;

-- finished: returns finished jobs that contain a jid, latest first: $1 and $2 are those of finishedArgs. It uses the index entry_by_jid.
SELECT score, text FROM hk.entry
WHERE set_id = -1 AND CASE WHEN split_part(text, '"jid"', 3) <> '' THEN ''
  ELSE left(split_part(ltrim(split_part(text, '"jid"', 2), E': \t\n\r'), '"', 2), 100) END = ANY (ARRAY[$1, '']) AND strpos(text, $2) > 0
ORDER BY score DESC;

-- lengthsUp: returns the sizes of the lowest entries.
SELECT octet_length(text) AS bytes FROM hk.entry WHERE set_id = $1 ORDER BY score, left(text, 200), text LIMIT $2;
