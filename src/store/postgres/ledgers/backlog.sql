-- front: adds rows at the front, each before the one before it, with their texts.
INSERT INTO hk.backlog (task, position, idx, text)
SELECT task, (SELECT least(min(position), 0) FROM hk.backlog AS backlog WHERE backlog.task = new.task)
  - row_number() OVER (PARTITION BY task ORDER BY n), idx, text
FROM unnest($1::bigint[], $2::bigint[], $3::text[]) WITH ORDINALITY AS new (task, idx, text, n);

-- back: adds rows at the back, with positions from the one in $3 on.
INSERT INTO hk.backlog (task, position, idx)
SELECT task, greatest((SELECT max(position) + 1 FROM hk.backlog AS backlog WHERE backlog.task = new.task), least_position)
  + row_number() OVER (PARTITION BY task ORDER BY n) - 1, idx
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) WITH ORDINALITY AS new (task, idx, least_position, n);

-- remove: deletes rows.
DELETE FROM hk.backlog AS backlog USING unnest($1::bigint[], $2::bigint[]) AS gone (task, idx)
WHERE backlog.task = gone.task AND backlog.idx = gone.idx;

-- first: returns the next rows, in order.
SELECT backlog.position, backlog.idx, text, run, CASE WHEN text IS NULL THEN args END AS args
FROM hk.backlog AS backlog JOIN hk.task_row AS event ON event.task = backlog.task AND event.idx = backlog.idx
WHERE backlog.task = $1 ORDER BY backlog.position LIMIT $2;

-- issue: moves the next $3 rows that were never in the queue into the queue $4, if they have just arguments and no other rows come
-- before or between them. $5 is subtracted from their positions; $6 to $9 are the parts of rowMembers. Returns how many rows, and
-- the last of them. No row: nothing was moved, or the queue is new.
WITH next AS (
  SELECT idx, run, args FROM hk.task_row WHERE task = $1 AND idx >= $2 AND location = 3 ORDER BY idx LIMIT $3
), moved AS (
  SELECT count(*) AS n, max(idx) AS last FROM next
  HAVING bool_and(left(args, 1) = '[') AND NOT EXISTS (SELECT 1 FROM hk.backlog WHERE task = $1)
), grown AS (
  UPDATE hk.queue AS queue SET size = size + n, cleared = 0 FROM moved WHERE queue.name = $4 RETURNING queue.id
), issued AS (
  INSERT INTO hk.ready (queue, position, text)
  SELECT grown.id, nextval('hk.back_position') - $5::bigint,
    $6::text || args || $7::text || lpad(to_hex(idx), 8, '0') || $8::text || run || $9::text
  FROM next CROSS JOIN grown ORDER BY idx
)
SELECT moved.n, moved.last FROM moved CROSS JOIN grown;

-- locate: stores where the jobs of rows are.
UPDATE hk.task_row AS event SET location = new.location
FROM unnest($2::bigint[], $3::smallint[]) AS new (idx, location) WHERE event.task = $1 AND event.idx = new.idx;
