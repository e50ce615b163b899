-- use: stores a limit that gets a used slot.
INSERT INTO hk_job_limit (name, spec) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET spec = excluded.spec;

-- await: stores a limit that gets a waiting job. A row: it had none, so it is checked now.
INSERT INTO hk_job_limit (name, spec, next_check) VALUES (?, ?, ?)
ON CONFLICT (name) DO UPDATE SET spec = excluded.spec, next_check = excluded.next_check WHERE next_check IS NULL RETURNING name;

-- change: changes a limit that jobs wait for, and checks it at once.
UPDATE hk_job_limit SET spec = ?2, next_check = min(next_check, ?3) WHERE name = ?1 AND next_check IS NOT NULL AND spec <> ?2;

-- take: takes a slot.
INSERT INTO hk_job_slot (job_limit, holder, owner) VALUES (?, ?, ?) ON CONFLICT DO NOTHING;

-- holds: returns a row if an attempt has a slot.
SELECT 1 FROM hk_job_slot WHERE job_limit = ? AND holder = ?;

-- used: counts the used slots of a limit.
SELECT count(*) AS used FROM hk_job_slot WHERE job_limit = ?;

-- release: releases a slot.
DELETE FROM hk_job_slot WHERE job_limit = ? AND holder = ?;

-- dropOrphaned: releases the slots of owners without a lease.
DELETE FROM hk_job_slot WHERE job_limit = ? AND owner NOT IN (SELECT id FROM hk_owner WHERE claimed = 0);

-- hasOrphaned: returns a row if an owner without a lease has a slot.
SELECT 1 FROM hk_job_slot WHERE owner NOT IN (SELECT id FROM hk_owner WHERE claimed = 0) LIMIT 1;

-- dropAllOrphaned: releases the slots of all owners without a lease. The names of their limits are JSON, which keeps NUL.
DELETE FROM hk_job_slot WHERE owner NOT IN (SELECT id FROM hk_owner WHERE claimed = 0) RETURNING json_quote(job_limit) AS name;

-- checkNow: checks a limit with waiting jobs now. A limit that is due already stays in its place.
UPDATE hk_job_limit SET next_check = min(next_check, ?) WHERE name = ? AND next_check IS NOT NULL;

-- checkAt: checks a limit with waiting jobs at a time.
UPDATE hk_job_limit SET next_check = ? WHERE name = ? AND next_check IS NOT NULL;

-- setCheck: sets the time of the next check; NULL: no job waits.
UPDATE hk_job_limit SET next_check = ? WHERE name = ?;

-- dropIfUnused: deletes a limit without used slots and waiting jobs.
DELETE FROM hk_job_limit WHERE name = ?1 AND next_check IS NULL AND NOT EXISTS (SELECT 1 FROM hk_job_slot WHERE job_limit = ?1);

-- dropEmptySet: deletes the set of waiting jobs if it is empty.
DELETE FROM hk_job_set WHERE name = ? AND size = 0;

-- due: returns the limits to check now; their names are in their specs, because drivers cut a column at NUL. A time too far
-- ahead is from an earlier start of the machine.
SELECT spec, next_check AS nextCheck FROM hk_job_limit WHERE next_check <= ?1 OR next_check > ?2 ORDER BY next_check LIMIT ?3;

-- nextCheck: returns the time of the next check.
SELECT min(next_check) AS nextCheck FROM hk_job_limit WHERE next_check IS NOT NULL;

-- setNumbers: sets numbers of a limit.
INSERT INTO hk_set_limit (name, numbers) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET numbers = excluded.numbers;

-- resetNumbers: deletes the numbers of a limit that were set.
DELETE FROM hk_set_limit WHERE name = ?;

-- numbersOf: returns the numbers of a limit that were set.
SELECT numbers FROM hk_set_limit WHERE name = ?;

-- allSet: returns all limits whose numbers were set.
SELECT name, numbers FROM hk_set_limit ORDER BY name;

-- checkAllNow: checks a limit now, with all its keys (Limit.name of the contract).
UPDATE hk_job_limit SET next_check = min(next_check, ?1)
WHERE next_check IS NOT NULL AND (name = ?2 OR substr(name, 1, length(?2) + 1) = ?2 || ':') RETURNING name;

-- list: returns the limits in use.
SELECT spec, (SELECT count(*) FROM hk_job_slot AS slot JOIN hk_owner AS owner ON owner.id = slot.owner AND claimed = 0
    WHERE slot.job_limit = l.name) AS used,
  coalesce((SELECT size FROM hk_job_set AS s WHERE s.name = 'limited:' || l.name), 0) AS waiting
FROM hk_job_limit AS l ORDER BY name;

-- listOne: returns a limit if it is in use.
SELECT spec, (SELECT count(*) FROM hk_job_slot AS slot JOIN hk_owner AS owner ON owner.id = slot.owner AND claimed = 0
    WHERE slot.job_limit = l.name) AS used,
  coalesce((SELECT size FROM hk_job_set AS s WHERE s.name = 'limited:' || l.name), 0) AS waiting
FROM hk_job_limit AS l WHERE name = ?;

-- rate: returns the starts that a limit gave out.
SELECT state FROM hk_job_rate WHERE name = ?;

-- saveRate: stores the starts that a limit gave out.
INSERT INTO hk_job_rate (name, state, until) VALUES (?, ?, ?)
ON CONFLICT (name) DO UPDATE SET state = excluded.state, until = excluded.until;

-- oldRate: returns a row if a rate is not in use any more.
SELECT 1 FROM hk_job_rate WHERE until < ? LIMIT 1;

-- dropRates: deletes rates that are not in use any more.
DELETE FROM hk_job_rate WHERE name IN (SELECT name FROM hk_job_rate WHERE until < ? LIMIT 1000);
