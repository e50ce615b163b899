-- add: adds a producer to a task, with its cursor.
INSERT INTO producer (task, name, cursor, state, retry) VALUES (?, ?, ?, ?, ?);

-- find: returns a producer of a task.
SELECT name, cursor, state, retry FROM producer WHERE task = ? AND name = ?;

-- advance: moves a producer's cursor. The first chunk of a row adds the row as a producer.
INSERT INTO producer (task, name, cursor, state) VALUES (?1, ?2, ?3, 4)
ON CONFLICT DO UPDATE SET cursor = excluded.cursor;

-- setState: sets the state of a producer.
UPDATE producer SET state = ? WHERE task = ? AND name = ?;

-- endAll: ends all producers of a task.
UPDATE producer SET state = 1 WHERE task = ? AND state IN (0, 2);

-- open: returns the tasks to which a producer is adding rows.
SELECT task.id FROM producer JOIN task ON task.key = producer.task WHERE producer.name = ? AND producer.state = 0;
