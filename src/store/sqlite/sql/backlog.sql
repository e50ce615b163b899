-- front: a row goes before all that wait, with its text.
INSERT INTO backlog (task, place, idx, text)
SELECT ?1, min(coalesce(min(place), 0), 0) - 1, ?2, ?3 FROM backlog WHERE task = ?1;

-- back: a row goes behind all that wait, with a place that is at least ?3.
INSERT INTO backlog (task, place, idx)
SELECT ?1, max(coalesce(max(place), 0) + 1, ?3), ?2 FROM backlog WHERE task = ?1;

-- first: the next ones, in order.
SELECT backlog.place, backlog.idx, text, run, CASE WHEN text IS NULL THEN args END AS args
FROM backlog JOIN event ON event.task = backlog.task AND event.idx = backlog.idx
WHERE backlog.task = ? ORDER BY backlog.place LIMIT ?;

-- next: the next rows never issued, in short; `bare`: how many of them have bare arguments. `others`: some go before or
-- between them.
SELECT count(*) AS n, min(idx) AS first, max(idx) AS last, count(*) FILTER (WHERE substr(args, 1, 1) = '[') AS bare,
  EXISTS (SELECT 1 FROM backlog WHERE task = ?1) AS others
FROM (SELECT idx, args FROM event WHERE task = ?1 AND idx >= ?2 AND place = 3 ORDER BY idx LIMIT ?3);

-- issue: rows never issued go from ?2 to ?3 into a queue, at places from ?5 on, each spliced of ?6 to ?9 (see rowFrame).
INSERT INTO ready (queue, place, text)
SELECT ?4, idx - ?2 + ?5, ?6 || args || ?7 || format('%08x', idx) || ?8 || run || ?9
FROM event WHERE task = ?1 AND idx BETWEEN ?2 AND ?3 AND place = 3;

-- remove: a row waits no more.
DELETE FROM backlog WHERE task = ? AND idx = ?;
