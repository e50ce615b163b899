-- Ids are looked up one by one: see waiting.sql.

-- enter: adds dead ids, or counts another death of each. Returns the number of deaths of each.
INSERT INTO hk.ordered_dead AS d (queue, id, updated_at, deaths, error)
SELECT $1, id, $3, 1, error FROM unnest($2::text[], $4::text[]) AS named(id, error)
ON CONFLICT (queue, id) DO UPDATE SET updated_at = excluded.updated_at, deaths = d.deaths + 1, error = excluded.error
RETURNING id, deaths;

-- find: returns those of these ids that are dead.
SELECT d.id, updated_at AS "updatedAt", deaths, error FROM unnest($2::text[]) AS named(id)
CROSS JOIN LATERAL (SELECT * FROM hk.ordered_dead WHERE queue = $1 AND id = named.id OFFSET 0) AS d;

-- remove: deletes dead ids.
DELETE FROM hk.ordered_dead AS d USING unnest($2::text[]) AS named(id)
CROSS JOIN LATERAL (SELECT ctid FROM hk.ordered_dead WHERE queue = $1 AND id = named.id OFFSET 0) AS found
WHERE d.ctid = found.ctid;

-- idUp: returns dead ids behind (queue, id).
SELECT id, updated_at AS "updatedAt", deaths, error FROM hk.ordered_dead
WHERE queue = $1 AND (queue, id) > ($2, $3) ORDER BY queue, id LIMIT $4;

-- idDown: returns dead ids before (queue, id).
SELECT id, updated_at AS "updatedAt", deaths, error FROM hk.ordered_dead
WHERE queue = $1 AND (queue, id) < ($2, $3) ORDER BY queue DESC, id DESC LIMIT $4;

-- ageUp: returns dead ids from behind (updated_at, id) on.
SELECT id, updated_at AS "updatedAt", deaths, error FROM hk.ordered_dead
WHERE queue = $1 AND (updated_at, id) > ($2, $3) ORDER BY updated_at, id LIMIT $4;

-- ageDown: returns dead ids from before (updated_at, id) on.
SELECT id, updated_at AS "updatedAt", deaths, error FROM hk.ordered_dead
WHERE queue = $1 AND (updated_at, id) < ($2, $3) ORDER BY updated_at DESC, id DESC LIMIT $4;

-- restore: adds entries, or keeps the newer time and the larger number of deaths. The call names an id once.
INSERT INTO hk.ordered_dead AS d (queue, id, updated_at, deaths, error)
SELECT $1, * FROM unnest($2::text[], $3::float8[], $4::bigint[], $5::text[])
ON CONFLICT (queue, id) DO UPDATE
SET updated_at = greatest(d.updated_at, excluded.updated_at), deaths = greatest(d.deaths, excluded.deaths);
