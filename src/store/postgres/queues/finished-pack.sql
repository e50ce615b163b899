-- add: adds a pack.
INSERT INTO hk.finished_pack (size, oldest, newest, scores, texts) VALUES ($1, $2, $3, $4, $5);

-- some: returns a row if there is a pack.
SELECT 1 FROM hk.finished_pack LIMIT 1;

-- count: returns the number of jobs in packs.
SELECT coalesce(sum(size), 0) AS jobs FROM hk.finished_pack;

-- unpack: deletes the oldest pack, and adds its jobs to a set. Returns its number of jobs, and how many of them were new.
WITH pack AS (
  DELETE FROM hk.finished_pack WHERE id = (SELECT id FROM hk.finished_pack ORDER BY id LIMIT 1) RETURNING size, scores, texts
), added AS (
  INSERT INTO hk.entry (set_id, score, text) SELECT $1, score, text FROM pack, unnest(scores, texts) AS jobs (score, text)
  ON CONFLICT DO NOTHING RETURNING 1
)
SELECT size, (SELECT count(*) FROM added) AS added FROM pack;

-- oldest: returns the oldest packs without their jobs.
SELECT id, size, oldest, newest FROM hk.finished_pack ORDER BY id LIMIT $1;

-- deleteTo: deletes the packs up to an id.
DELETE FROM hk.finished_pack WHERE id <= $1;
