-- growBack: reserves ?3 places at the back, for ?2 jobs; answers the queue and its last place. Nothing when it is new.
UPDATE queue SET tail = tail + ?3, size = size + ?2, cleared = 0 WHERE name = ?1 RETURNING id, tail;

-- growFront: reserves places at the front; answers the queue and the place before its first.
UPDATE queue SET head = head - ?3, size = size + ?2, cleared = 0 WHERE name = ?1 RETURNING id, head;

-- create: enters a queue; harmless when it is there.
INSERT INTO queue (name) VALUES (?) ON CONFLICT DO NOTHING;

-- put: one job at a reserved place.
INSERT INTO ready (queue, place, text) VALUES (?, ?, ?);

-- putAll: jobs at consecutive reserved places; the texts come as one JSON array, which costs half of row by row.
INSERT INTO ready (queue, place, text) SELECT ?1, ?2 + key, value FROM json_each(?3);

-- find: the queue's id, if it has jobs that may be taken.
SELECT id FROM queue WHERE name = ?1 AND size > 0 AND NOT EXISTS (SELECT 1 FROM paused WHERE queue = ?1);

-- sizes: how large the next jobs of a queue are, in order.
SELECT octet_length(text) AS bytes FROM ready WHERE queue = ? ORDER BY place LIMIT ?;

-- first: the next jobs of a queue, in order.
SELECT place, text FROM ready WHERE queue = ? ORDER BY place LIMIT ?;

-- removeTo: takes every job up to a place out of the queue.
DELETE FROM ready WHERE queue = ? AND place <= ?;

-- hand: gives an owner jobs of a queue, as a JSON array of [place, text].
INSERT INTO working (owner, queue, place, text) SELECT ?1, ?2, value ->> 0, value ->> 1 FROM json_each(?3);

-- shrink: a queue has lost jobs.
UPDATE queue SET size = size - ? WHERE id = ?;

-- list: all queues with their size and the job that is next.
SELECT name, size, (SELECT text FROM ready WHERE queue = queue.id ORDER BY place LIMIT 1) AS next
FROM queue WHERE cleared = 0 ORDER BY name;

-- peek: a page of waiting jobs, next to run first.
SELECT text FROM ready JOIN queue ON queue.id = ready.queue
WHERE queue.name = ? ORDER BY place LIMIT ? OFFSET ?;

-- id: of a queue, whether it has jobs or not.
SELECT id, tail FROM queue WHERE name = ?;

-- newest: places and lengths of the jobs before a place, newest first.
SELECT place, octet_length(text) AS bytes FROM ready WHERE queue = ? AND place < ? ORDER BY place DESC LIMIT ?;

-- search: jobs between two places (the second one excluded) that contain a text, newest first.
SELECT place, text FROM ready
WHERE queue = ? AND place >= ? AND place < ? AND instr(text, ?) > 0 ORDER BY place DESC LIMIT ?;

-- whereIs: those of the texts of a JSON array that stand between two places (the second one excluded).
SELECT place, text FROM ready
WHERE queue = ? AND place >= ? AND place < ? AND text IN (SELECT value FROM json_each(?)) ORDER BY place DESC;

-- stands: whether a job stands at a place.
SELECT place FROM ready WHERE queue = ? AND place = ? AND text = ?;

-- remove: takes one job out.
DELETE FROM ready WHERE queue = ? AND place = ? AND text = ? RETURNING place;

-- clearTo: drops the jobs up to a place that contain no text of a JSON array.
DELETE FROM ready WHERE queue = ? AND place <= ?
AND NOT EXISTS (SELECT 1 FROM json_each(?) AS mark WHERE instr(ready.text, mark.value) > 0) RETURNING place;

-- clearAllTo: drops the jobs up to a place.
DELETE FROM ready WHERE queue = ? AND place <= ? RETURNING place;

-- leftTo: the jobs up to a place, in order.
SELECT place, text FROM ready WHERE queue = ? AND place <= ? ORDER BY place;

-- places: places and lengths of the next jobs, in order.
SELECT place, octet_length(text) AS bytes FROM ready WHERE queue = ? ORDER BY place LIMIT ?;

-- hide: a queue that is empty is not listed.
UPDATE queue SET cleared = 1 WHERE id = ? AND size = 0;

-- one: a queue with its size and the job that is next.
SELECT name, size, (SELECT text FROM ready WHERE queue = queue.id ORDER BY place LIMIT 1) AS next
FROM queue WHERE name = ?;
