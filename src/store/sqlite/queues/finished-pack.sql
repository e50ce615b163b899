-- add: stores the jobs that one step finished.
INSERT INTO hk_finished_pack (size, oldest, newest, runs, texts) VALUES (?, ?, ?, ?, ?);

-- some: returns a row if there is a pack.
SELECT 1 FROM hk_finished_pack LIMIT 1;

-- count: returns how many jobs all packs have.
SELECT coalesce(sum(size), 0) AS jobs FROM hk_finished_pack;

-- oldest: returns the oldest packs without their jobs.
SELECT id, size, oldest, newest FROM hk_finished_pack ORDER BY id LIMIT ?;

-- delete: deletes the oldest pack and returns its jobs.
DELETE FROM hk_finished_pack WHERE id = (SELECT min(id) FROM hk_finished_pack) RETURNING runs, texts;

-- deleteTo: deletes the packs up to an id.
DELETE FROM hk_finished_pack WHERE id <= ?;
