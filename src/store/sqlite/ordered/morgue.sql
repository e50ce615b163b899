-- enter: adds a dead id, or counts another death of it.
INSERT INTO hk_ordered_dead (queue, id, updated_at, deaths, error) VALUES (?, ?, ?, 1, ?)
ON CONFLICT (queue, id) DO UPDATE SET updated_at = excluded.updated_at, deaths = deaths + 1, error = excluded.error
RETURNING deaths;

-- find: returns a dead id.
SELECT json_array(id, format('%!.17g', updated_at), deaths, error) AS json FROM hk_ordered_dead WHERE queue = ? AND id = ?;

-- remove: deletes a dead id.
DELETE FROM hk_ordered_dead WHERE queue = ? AND id = ?;

-- idUp: returns dead ids from one on.
SELECT json_group_array(json_array(id, format('%!.17g', updated_at), deaths, error)) AS json
FROM (SELECT id, updated_at, deaths, error FROM hk_ordered_dead WHERE queue = ?1 AND id >= ?2 ORDER BY id LIMIT ?3);

-- idDown: returns dead ids before one.
SELECT json_group_array(json_array(id, format('%!.17g', updated_at), deaths, error)) AS json
FROM (SELECT id, updated_at, deaths, error FROM hk_ordered_dead WHERE queue = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3);

-- ageUp: returns dead ids from behind (updated_at, id) on.
SELECT json_group_array(json_array(id, format('%!.17g', updated_at), deaths, error)) AS json
FROM (
  SELECT id, updated_at, deaths, error FROM hk_ordered_dead
  WHERE queue = ?1 AND (updated_at, id) > (?2, ?3) ORDER BY updated_at, id LIMIT ?4
);

-- ageDown: returns dead ids from before (updated_at, id) on.
SELECT json_group_array(json_array(id, format('%!.17g', updated_at), deaths, error)) AS json
FROM (
  SELECT id, updated_at, deaths, error FROM hk_ordered_dead
  WHERE queue = ?1 AND (updated_at, id) < (?2, ?3) ORDER BY updated_at DESC, id DESC LIMIT ?4
);

-- restore: adds an entry, or keeps the newer time and the larger number of deaths.
INSERT INTO hk_ordered_dead (queue, id, updated_at, deaths, error) VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET updated_at = max(updated_at, excluded.updated_at), deaths = max(deaths, excluded.deaths);
