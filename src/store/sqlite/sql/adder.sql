-- enter: an adder begins to count, where it is told.
INSERT INTO adder (task, token, cursor, state, retry) VALUES (?, ?, ?, ?, ?);

-- find: how far an adder has come.
SELECT token, cursor, state, retry FROM adder WHERE task = ? AND token = ?;

-- advance: an adder's chunk is in. (A row is entered by its first.)
INSERT INTO adder (task, token, cursor, state) VALUES (?1, ?2, ?3, 4)
ON CONFLICT DO UPDATE SET cursor = excluded.cursor;

-- become: an adder's state.
UPDATE adder SET state = ? WHERE task = ? AND token = ?;

-- endAll: nobody adds to a task any more.
UPDATE adder SET state = 1 WHERE task = ? AND state IN (0, 2);

-- open: the tasks that somebody adds to.
SELECT task.id FROM adder JOIN task ON task.key = adder.task WHERE adder.token = ? AND adder.state = 0;
