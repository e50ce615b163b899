-- front: adds a row at the front, with its text.
INSERT INTO hk_backlog (task, position, idx, text)
SELECT ?1, min(coalesce(min(position), 0), 0) - 1, ?2, ?3 FROM hk_backlog WHERE task = ?1;

-- back: adds a row at the back, with a position of at least ?3.
INSERT INTO hk_backlog (task, position, idx)
SELECT ?1, max(coalesce(max(position), 0) + 1, ?3), ?2 FROM hk_backlog WHERE task = ?1;

-- first: returns the next rows, in order.
SELECT backlog.position, backlog.idx, text, run, CASE WHEN text IS NULL THEN args END AS args
FROM hk_backlog AS backlog JOIN hk_event AS event ON event.task = backlog.task AND event.idx = backlog.idx
WHERE backlog.task = ? ORDER BY backlog.position LIMIT ?;

-- next: summarizes the next rows that were never in the queue. `bare`: how many of them have just arguments. `others`:
-- whether other rows come before or between them.
SELECT count(*) AS n, min(idx) AS first, max(idx) AS last, count(*) FILTER (WHERE substr(args, 1, 1) = '[') AS bare,
  EXISTS (SELECT 1 FROM hk_backlog WHERE task = ?1) AS others
FROM (SELECT idx, args FROM hk_event WHERE task = ?1 AND idx >= ?2 AND location = 3 ORDER BY idx LIMIT ?3);

-- issue: moves rows that were never in the queue, from ?2 to ?3, to positions from ?5 on; ?6 to ?9 are the parts of
-- rowMembers.
INSERT INTO hk_ready (queue, position, text)
SELECT ?4, idx - ?2 + ?5, ?6 || args || ?7 || format('%08x', idx) || ?8 || run || ?9
FROM hk_event WHERE task = ?1 AND idx BETWEEN ?2 AND ?3 AND location = 3;

-- remove: deletes a row.
DELETE FROM hk_backlog WHERE task = ? AND idx = ?;
