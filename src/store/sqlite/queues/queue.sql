-- growBack: reserves ?3 places at the back for ?2 jobs; returns the queue and its last place. No row: the queue is new.
UPDATE queue SET tail = tail + ?3, size = size + ?2, cleared = 0 WHERE name = ?1 RETURNING id, tail;

-- growFront: reserves places at the front; returns the queue and the place before the first one.
UPDATE queue SET head = head - ?3, size = size + ?2, cleared = 0 WHERE name = ?1 RETURNING id, head;

-- create: creates a queue if it does not exist.
INSERT INTO queue (name) VALUES (?) ON CONFLICT DO NOTHING;

-- put: stores a job at a reserved place.
INSERT INTO ready (queue, place, text) VALUES (?, ?, ?);

-- putAll: stores jobs at consecutive reserved places. The texts are one JSON array, which costs half of row by row.
INSERT INTO ready (queue, place, text) SELECT ?1, ?2 + key, value FROM json_each(?3);

-- find: returns the id of a queue if it has jobs and is not paused.
SELECT id FROM queue WHERE name = ?1 AND size > 0 AND NOT EXISTS (SELECT 1 FROM paused WHERE queue = ?1);

-- sizes: returns the sizes of the next jobs of a queue, in order.
SELECT octet_length(text) AS bytes FROM ready WHERE queue = ? ORDER BY place LIMIT ?;

-- first: returns the next jobs of a queue, in order.
SELECT place, text FROM ready WHERE queue = ? ORDER BY place LIMIT ?;

-- removeTo: deletes the jobs up to a place.
DELETE FROM ready WHERE queue = ? AND place <= ?;

-- fetch: moves jobs of a queue to an owner, as a JSON array of [place, text].
INSERT INTO working (owner, queue, place, text) SELECT ?1, ?2, value ->> 0, value ->> 1 FROM json_each(?3);

-- shrink: reduces the size of a queue.
UPDATE queue SET size = size - ? WHERE id = ?;

-- list: returns all queues with their sizes and next jobs.
SELECT name, size, (SELECT text FROM ready WHERE queue = queue.id ORDER BY place LIMIT 1) AS next
FROM queue WHERE cleared = 0 ORDER BY name;

-- peek: returns a page of jobs, next to be fetched first.
SELECT text FROM ready JOIN queue ON queue.id = ready.queue
WHERE queue.name = ? ORDER BY place LIMIT ? OFFSET ?;

-- id: returns the id of a queue, whether it has jobs or not.
SELECT id, tail FROM queue WHERE name = ?;

-- newest: returns places and sizes of the jobs before a place, newest first.
SELECT place, octet_length(text) AS bytes FROM ready WHERE queue = ? AND place < ? ORDER BY place DESC LIMIT ?;

-- search: returns jobs between two places (the second one excluded) that contain a text, newest first.
SELECT place, text FROM ready
WHERE queue = ? AND place >= ? AND place < ? AND instr(text, ?) > 0 ORDER BY place DESC LIMIT ?;

-- whereIs: returns the texts of a JSON array that are between two places (the second one excluded).
SELECT place, text FROM ready
WHERE queue = ? AND place >= ? AND place < ? AND text IN (SELECT value FROM json_each(?)) ORDER BY place DESC;

-- isAt: returns a row if a job is at a place.
SELECT place FROM ready WHERE queue = ? AND place = ? AND text = ?;

-- remove: deletes one job.
DELETE FROM ready WHERE queue = ? AND place = ? AND text = ? RETURNING place;

-- clearTo: deletes the jobs up to a place that contain no text of a JSON array.
DELETE FROM ready WHERE queue = ? AND place <= ?
AND NOT EXISTS (SELECT 1 FROM json_each(?) AS needle WHERE instr(ready.text, needle.value) > 0) RETURNING place;

-- clearAllTo: deletes the jobs up to a place.
DELETE FROM ready WHERE queue = ? AND place <= ? RETURNING place;

-- leftTo: returns the jobs up to a place, in order.
SELECT place, text FROM ready WHERE queue = ? AND place <= ? ORDER BY place;

-- places: returns places and sizes of the next jobs, in order.
SELECT place, octet_length(text) AS bytes FROM ready WHERE queue = ? ORDER BY place LIMIT ?;

-- hide: stops listing a queue if it is empty.
UPDATE queue SET cleared = 1 WHERE id = ? AND size = 0;

-- one: returns a queue with its size and next job.
SELECT name, size, (SELECT text FROM ready WHERE queue = queue.id ORDER BY place LIMIT 1) AS next
FROM queue WHERE name = ?;

-- pause: pauses a queue.
INSERT INTO paused (queue) VALUES (?) ON CONFLICT DO NOTHING;

-- resume: resumes a queue.
DELETE FROM paused WHERE queue = ?;

-- paused: returns the names of the paused queues.
SELECT queue FROM paused ORDER BY queue;
