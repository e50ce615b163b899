-- load: returns limits by their names, each with what a call must know of it: $2 are the names without their keys, $3 the
-- holders of the call. A limit that is not stored has no spec. Slots of owners without a lease are not used. Each row has the
-- time and the id of the owner $4, too; without names there is one row.
SELECT c.now, c.owner, n.name, l.spec, l.next_check AS "nextCheck", set_limit.numbers, r.state, u.used, u.held,
  coalesce(s.size, 0) AS waiting
FROM (SELECT hk.micros() AS now, (SELECT id FROM hk.owner WHERE name = $4 AND claimed = 0) AS owner) AS c
LEFT JOIN unnest($1::text[], $2::text[]) AS n(name, base) ON true
LEFT JOIN hk.job_limit AS l ON l.name = n.name
LEFT JOIN hk.set_limit AS set_limit ON set_limit.name = n.base
LEFT JOIN hk.job_rate AS r ON r.name = n.name
LEFT JOIN hk.job_set AS s ON s.name = 'limited:' || n.name
LEFT JOIN LATERAL (
  SELECT count(*) AS used, array_agg(slot.holder) FILTER (WHERE slot.holder = ANY($3::text[])) AS held
  FROM hk.job_slot AS slot JOIN hk.owner AS owner ON owner.id = slot.owner AND owner.claimed = 0
  WHERE slot.job_limit = n.name
) AS u ON true;

-- save: stores what a call changed: the slots of an owner ($3), limits with the times of their checks, and rates.
WITH slots AS (
  INSERT INTO hk.job_slot (job_limit, holder, owner)
  SELECT job_limit, holder, $3::bigint FROM unnest($1::text[], $2::text[]) AS n(job_limit, holder)
  ON CONFLICT (job_limit, holder) DO UPDATE SET owner = excluded.owner
), rates AS (
  INSERT INTO hk.job_rate (name, state, until) SELECT * FROM unnest($7::text[], $8::text[], $9::bigint[])
  ON CONFLICT (name) DO UPDATE SET state = excluded.state, until = excluded.until
)
INSERT INTO hk.job_limit (name, spec, next_check) SELECT * FROM unnest($4::text[], $5::text[], $6::bigint[])
ON CONFLICT (name) DO UPDATE SET spec = excluded.spec, next_check = excluded.next_check;

-- await: stores limits that get a waiting job. A row: it had none, so it is checked now.
INSERT INTO hk.job_limit AS l (name, spec, next_check)
SELECT name, spec, hk.micros() FROM unnest($1::text[], $2::text[]) AS n(name, spec)
ON CONFLICT (name) DO UPDATE SET spec = excluded.spec, next_check = excluded.next_check WHERE l.next_check IS NULL RETURNING name;

-- release: releases slots, and checks their limits now. A limit that is due already stays in its place. A row: jobs wait for it.
WITH released AS (
  DELETE FROM hk.job_slot AS slot USING unnest($1::text[], $2::text[]) AS n(job_limit, holder)
  WHERE slot.job_limit = n.job_limit AND slot.holder = n.holder
)
UPDATE hk.job_limit SET next_check = least(next_check, hk.micros())
WHERE name = ANY($1::text[]) AND next_check IS NOT NULL RETURNING name;

-- hasOld: returns a row if an owner without a lease has a slot, or a limit is not in use any more.
SELECT 1 FROM hk.job_slot WHERE owner NOT IN (SELECT id FROM hk.owner WHERE claimed = 0)
UNION ALL
SELECT 1 FROM hk.job_limit AS l
WHERE next_check IS NULL AND NOT EXISTS (SELECT 1 FROM hk.job_slot AS slot WHERE slot.job_limit = l.name)
LIMIT 1;

-- releaseOrphaned: releases the slots of all owners without a lease, and checks their limits now. A row: jobs wait for it.
WITH released AS (
  DELETE FROM hk.job_slot WHERE owner NOT IN (SELECT id FROM hk.owner WHERE claimed = 0) RETURNING job_limit
)
UPDATE hk.job_limit SET next_check = least(next_check, hk.micros())
WHERE name IN (SELECT job_limit FROM released) AND next_check IS NOT NULL RETURNING name;

-- dropUnused: deletes the limits without used slots and waiting jobs.
DELETE FROM hk.job_limit AS l
WHERE next_check IS NULL AND NOT EXISTS (SELECT 1 FROM hk.job_slot AS slot WHERE slot.job_limit = l.name);

-- postpone: checks limits with waiting jobs again after some microseconds.
UPDATE hk.job_limit SET next_check = hk.micros() + $1::bigint WHERE name = ANY($2::text[]) AND next_check IS NOT NULL;

-- endWait: notes that no job waits for limits any more, and deletes the job sets in which they waited ($2).
WITH sets AS (DELETE FROM hk.job_set WHERE name = ANY($2::text[]) AND size = 0)
UPDATE hk.job_limit SET next_check = NULL WHERE name = ANY($1::text[]);

-- due: returns the limits to check now, and deletes rates that are not in use any more. A time that is too far ahead is from
-- before the clock was set back.
WITH old AS (
  DELETE FROM hk.job_rate WHERE name IN (SELECT name FROM hk.job_rate WHERE until < (SELECT hk.micros()) LIMIT 1000)
)
SELECT name FROM hk.job_limit
WHERE next_check <= (SELECT hk.micros()) OR next_check > (SELECT hk.micros() + $1::bigint)
ORDER BY next_check LIMIT $2;

-- nextCheck: returns the time of the next check (NULL: no job waits), and whether `due` has something to do now.
SELECT now, "first" AS "next",
  coalesce("first" <= now OR "last" > now + $1::bigint, false) OR EXISTS (SELECT 1 FROM hk.job_rate WHERE until < now) AS "isDue"
FROM (SELECT hk.micros() AS now, min(next_check) AS "first", max(next_check) AS "last" FROM hk.job_limit
  WHERE next_check IS NOT NULL) AS c;

-- setNumbers: sets numbers of a limit.
INSERT INTO hk.set_limit (name, numbers) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET numbers = excluded.numbers;

-- resetNumbers: deletes the numbers of a limit that were set.
DELETE FROM hk.set_limit WHERE name = $1;

-- numbersOf: returns the numbers of a limit that were set.
SELECT numbers FROM hk.set_limit WHERE name = $1;

-- allSet: returns all limits whose numbers were set.
SELECT name, numbers FROM hk.set_limit ORDER BY name;

-- checkAllNow: checks a limit now, with all its keys (Limit.name of the contract). A row: jobs wait for it.
UPDATE hk.job_limit SET next_check = least(next_check, hk.micros())
WHERE next_check IS NOT NULL AND (name = $1 OR starts_with(name, $1 || ':')) RETURNING name;

-- names: returns the names of all stored limits.
SELECT name FROM hk.job_limit ORDER BY name;
