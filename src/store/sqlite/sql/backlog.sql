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

-- remove: a row waits no more.
DELETE FROM backlog WHERE task = ? AND idx = ?;
