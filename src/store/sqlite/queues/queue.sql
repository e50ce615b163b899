-- growBack: reserves ?3 positions at the back for ?2 jobs; returns the queue and its last position. No row: the queue is new.
UPDATE hk_queue SET tail = tail + ?3, size = size + ?2, cleared = 0 WHERE name = ?1 RETURNING id, tail;

-- growFront: reserves positions at the front; returns the queue and the position before the first one.
UPDATE hk_queue SET head = head - ?3, size = size + ?2, cleared = 0 WHERE name = ?1 RETURNING id, head;

-- growBackOf: reserves ?4 positions at the back of a priority, whose positions begin at ?3; returns the last one.
INSERT INTO hk_queue_priority (queue, priority, head, tail) VALUES (?1, ?2, ?3, ?3 + ?4)
ON CONFLICT DO UPDATE SET tail = tail + ?4 RETURNING tail;

-- growFrontOf: reserves positions at the front of a priority; returns the position before the first one.
INSERT INTO hk_queue_priority (queue, priority, head, tail) VALUES (?1, ?2, ?3 - ?4, ?3)
ON CONFLICT DO UPDATE SET head = head - ?4 RETURNING head;

-- grow: increases the size of a queue and returns it. No row: the queue is new.
UPDATE hk_queue SET size = size + ?2, cleared = 0 WHERE name = ?1 RETURNING id;

-- create: creates a queue if it does not exist.
INSERT INTO hk_queue (name) VALUES (?) ON CONFLICT DO NOTHING;

-- put: stores a job at a reserved position.
INSERT INTO hk_ready (queue, position, text) VALUES (?, ?, ?);

-- putAll: stores jobs at consecutive reserved positions. ?4 has the bytes of all texts; ?3 is a JSON array of where they are,
-- as start * 2^25 + length. This costs less than a JSON array of texts, and much less than row by row.
INSERT INTO hk_ready (queue, position, text)
SELECT ?1, ?2 + key, CAST(substr(?4, (value >> 25) + 1, value & 33554431) AS TEXT) FROM json_each(?3);

-- find: returns the id of a queue if it has jobs and is not paused.
SELECT id FROM hk_queue WHERE name = ?1 AND size > 0 AND NOT EXISTS (SELECT 1 FROM hk_paused WHERE queue = ?1);

-- length: returns the number of jobs of a queue, with those that wait for room in their limits.
SELECT size + limited AS size FROM hk_queue WHERE name = ?;

-- countLimited: changes the number of a queue's jobs that wait for room in their limits. No change: the queue is new.
UPDATE hk_queue SET limited = max(limited + ?2, 0) WHERE name = ?1;

-- sizes: returns the sizes of the next jobs of a queue, in order.
SELECT octet_length(text) AS bytes FROM hk_ready WHERE queue = ? ORDER BY position LIMIT ?;

-- first: returns the positions and the texts of the next jobs of a queue, in order, as two JSON arrays; null for a text of
-- more than ?3 bytes.
SELECT json_group_array(position) AS positions, json_group_array(CASE WHEN octet_length(text) <= ?3 THEN text END) AS texts
FROM (SELECT position, text FROM hk_ready WHERE queue = ?1 ORDER BY position LIMIT ?2);

-- removeTo: deletes the jobs up to a position.
DELETE FROM hk_ready WHERE queue = ? AND position <= ?;

-- fetch: stores fetched jobs of an owner: ?5 is a JSON array of the texts, ?4 one of the positions. NULL: the positions are
-- consecutive from ?3 on.
INSERT INTO hk_fetched (owner, queue, position, text) SELECT ?1, ?2, coalesce(?4 ->> key, ?3 + key), value FROM json_each(?5);

-- shrink: reduces the size of a queue.
UPDATE hk_queue SET size = size - ? WHERE id = ?;

-- list: returns all queues with their sizes and next jobs.
SELECT name, size, limited, (SELECT text FROM hk_ready WHERE queue = queue.id ORDER BY position LIMIT 1) AS next
FROM hk_queue AS queue WHERE cleared = 0 ORDER BY name;

-- peek: returns a page of jobs, next to be fetched first.
SELECT text FROM hk_ready AS ready JOIN hk_queue AS queue ON queue.id = ready.queue
WHERE queue.name = ? ORDER BY position LIMIT ? OFFSET ?;

-- id: returns the id of a queue, whether it has jobs or not.
SELECT id, tail FROM hk_queue WHERE name = ?;

-- newest: returns positions and sizes of the jobs before a position, newest first.
SELECT position, octet_length(text) AS bytes FROM hk_ready WHERE queue = ? AND position < ? ORDER BY position DESC LIMIT ?;

-- oldest: returns positions and sizes of the jobs after a position, in the order in which they are fetched.
SELECT position, octet_length(text) AS bytes FROM hk_ready WHERE queue = ? AND position > ? ORDER BY position LIMIT ?;

-- searchOldest: returns jobs between two positions (the first one excluded) that contain a text, in the order in which they
-- are fetched.
SELECT position, text FROM hk_ready
WHERE queue = ? AND position > ? AND position <= ? AND instr(text, ?) > 0 ORDER BY position LIMIT ?;

-- search: returns jobs between two positions (the second one excluded) that contain a text, newest first.
SELECT position, text FROM hk_ready
WHERE queue = ? AND position >= ? AND position < ? AND instr(text, ?) > 0 ORDER BY position DESC LIMIT ?;

-- whereIs: returns the texts of a JSON array that are between two positions (the second one excluded).
SELECT position, text FROM hk_ready
WHERE queue = ? AND position >= ? AND position < ? AND text IN (SELECT value FROM json_each(?)) ORDER BY position DESC;

-- isAt: returns a row if a job is at a position.
SELECT position FROM hk_ready WHERE queue = ? AND position = ? AND text = ?;

-- remove: deletes one job.
DELETE FROM hk_ready WHERE queue = ? AND position = ? AND text = ? RETURNING position;

-- replace: gives a job another text.
UPDATE hk_ready SET text = ? WHERE queue = ? AND position = ? AND text = ?;

-- clearTo: deletes the jobs up to a position that contain no text of a JSON array.
DELETE FROM hk_ready WHERE queue = ? AND position <= ?
AND NOT EXISTS (SELECT 1 FROM json_each(?) AS needle WHERE instr(hk_ready.text, needle.value) > 0);

-- leftTo: returns the jobs up to a position, in order.
SELECT position, text FROM hk_ready WHERE queue = ? AND position <= ? ORDER BY position;

-- positions: returns positions and sizes of the next jobs, in order.
SELECT position, octet_length(text) AS bytes FROM hk_ready WHERE queue = ? ORDER BY position LIMIT ?;

-- hide: stops listing a queue if it is empty.
UPDATE hk_queue SET cleared = 1 WHERE id = ? AND size = 0;

-- one: returns a queue with its size and next job.
SELECT name, size, limited, (SELECT text FROM hk_ready WHERE queue = queue.id ORDER BY position LIMIT 1) AS next
FROM hk_queue AS queue WHERE name = ?;

-- heads: returns the next job of each priority; of one without jobs, that of a lower one. ?1 is below the positions of priority 0.
SELECT queue.name, (SELECT text FROM hk_ready AS ready WHERE ready.queue = queue.id AND position > p.head ORDER BY position LIMIT 1) AS text
FROM (SELECT queue AS id, head FROM hk_queue_priority UNION SELECT queue, ?1 FROM hk_queue_priority) AS p
JOIN hk_queue AS queue ON queue.id = p.id;

-- pause: pauses a queue.
INSERT INTO hk_paused (queue) VALUES (?) ON CONFLICT DO NOTHING;

-- resume: resumes a queue.
DELETE FROM hk_paused WHERE queue = ?;

-- paused: returns the names of the paused queues.
SELECT queue FROM hk_paused ORDER BY queue;

-- deleteOldPushes: deletes the ids of old pushes with `once`.
DELETE FROM hk_pushed_once WHERE at < ?;

-- rememberPush: stores the id of a push with `once`. No row: it was pushed before.
INSERT INTO hk_pushed_once (jid, at) VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING jid;

-- forgetPush: deletes the id of a push with `once` that was refused.
DELETE FROM hk_pushed_once WHERE jid = ?;
