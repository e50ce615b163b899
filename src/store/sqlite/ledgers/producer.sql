-- add: adds a producer to a task, with its cursor.
INSERT INTO adder (task, token, cursor, state, retry) VALUES (?, ?, ?, ?, ?);

-- find: returns a producer of a task.
SELECT token, cursor, state, retry FROM adder WHERE task = ? AND token = ?;

-- advance: moves a producer's cursor. The first chunk of a row adds the row as a producer.
INSERT INTO adder (task, token, cursor, state) VALUES (?1, ?2, ?3, 4)
ON CONFLICT DO UPDATE SET cursor = excluded.cursor;

-- setState: sets the state of a producer.
UPDATE adder SET state = ? WHERE task = ? AND token = ?;

-- endAll: ends all producers of a task.
UPDATE adder SET state = 1 WHERE task = ? AND state IN (0, 2);

-- open: returns the tasks to which a producer is adding rows.
SELECT task.id FROM adder JOIN task ON task.key = adder.task WHERE adder.token = ? AND adder.state = 0;
