-- held: returns the page that is held.
SELECT transfer, number, target, jobs FROM hk.transfer_page WHERE jobs IS NOT NULL;

-- hold: holds the next page, and returns its number.
INSERT INTO hk.transfer_page AS page (id, transfer, number, target, jobs) VALUES (1, $1, 1, $2, $3)
ON CONFLICT (id) DO UPDATE
SET number = page.number + 1, transfer = excluded.transfer, target = excluded.target, jobs = excluded.jobs
RETURNING number;

-- endPage: ends a page. No row changes: it is not held.
UPDATE hk.transfer_page SET jobs = NULL WHERE transfer = $1 AND number = $2 AND jobs IS NOT NULL;

-- near: returns jobs of a queue that are fetched next, from an offset on.
SELECT at_position AS position, job AS text
FROM hk.oldest_jobs($1, $2::bigint + $3::bigint) ORDER BY at_position LIMIT $2 OFFSET $3;

-- outcome: returns what became of a page.
SELECT outcome FROM hk.stored_page WHERE transfer = $1 AND number = $2;

-- remember: stores what becomes of a page unless that is known. Returns what was known.
WITH known AS (SELECT outcome FROM hk.stored_page WHERE transfer = $1 AND number = $2),
remembered AS (
  INSERT INTO hk.stored_page (id, transfer, number, outcome)
  SELECT coalesce((SELECT max(id) FROM hk.stored_page), 0) + 1, $1, $2, $3 WHERE NOT EXISTS (SELECT 1 FROM known)
)
SELECT outcome FROM known;

-- prune: deletes the pages ($3 is 0) or the tasks (1) of a source, but not the newest $4. Their names are between $1 and $2.
DELETE FROM hk.stored_page WHERE id IN (
  SELECT id FROM hk.stored_page WHERE transfer > $1 AND transfer < $2 AND (number = 0)::integer = $3 ORDER BY id DESC OFFSET $4
);

-- removeQueued: deletes the jobs at these positions of a queue, none of which may be packed, and reduces its size.
WITH gone AS (
  DELETE FROM hk.ready AS ready USING unnest($2::bigint[]) AS named(position)
  CROSS JOIN LATERAL (SELECT ctid FROM hk.ready WHERE queue = $1 AND position = named.position OFFSET 0) AS found
  WHERE ready.ctid = found.ctid RETURNING 1
)
UPDATE hk.queue SET size = size - (SELECT count(*) FROM gone) WHERE id = $1;
