-- add: adds a producer to a task, with its cursor.
INSERT INTO hk_producer (task, name, cursor, state, retry) VALUES (?, ?, ?, ?, ?);

-- find: returns a producer of a task.
SELECT name, cursor, state, retry FROM hk_producer WHERE task = ? AND name = ?;

-- advance: moves a producer's cursor. The first chunk of a row adds the row as a producer.
INSERT INTO hk_producer (task, name, cursor, state) VALUES (?1, ?2, ?3, 4)
ON CONFLICT DO UPDATE SET cursor = excluded.cursor;

-- remove: deletes a producer.
DELETE FROM hk_producer WHERE task = ? AND name = ?;

-- setState: sets the state of a producer.
UPDATE hk_producer SET state = ? WHERE task = ? AND name = ?;

-- unended: returns the producers of a task that add rows or broke off.
SELECT producer.name, producer.state FROM hk_producer AS producer JOIN hk_task AS task ON task.key = producer.task
WHERE task.id = ? AND task.deleting = 0 AND producer.state IN (0, 2) AND producer.retry = 0 ORDER BY producer.name;

-- endAll: ends all producers of a task.
UPDATE hk_producer SET state = 1 WHERE task = ? AND state IN (0, 2);

-- open: returns the tasks to which a producer is adding rows.
SELECT task.id FROM hk_producer AS producer JOIN hk_task AS task ON task.key = producer.task WHERE producer.name = ? AND producer.state = 0;
