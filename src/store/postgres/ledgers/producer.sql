-- add: adds a producer to a task, with its cursor.
INSERT INTO hk.producer (task, name, cursor, state, retry) VALUES ($1, $2, $3, $4, $5);

-- find: returns a producer of a task.
SELECT name, cursor, state, retry FROM hk.producer WHERE task = $1 AND name = $2;

-- advance: moves the cursors of producers. The first chunk of a row adds the row as a producer.
INSERT INTO hk.producer (task, name, cursor, state) SELECT $1, name, cursor, 4 FROM unnest($2::text[], $3::bigint[]) AS new (name, cursor)
ON CONFLICT (task, name) DO UPDATE SET cursor = excluded.cursor;

-- remove: deletes producers.
DELETE FROM hk.producer WHERE task = $1 AND name = ANY($2::text[]);

-- setState: sets the state of a producer.
UPDATE hk.producer SET state = $1 WHERE task = $2 AND name = $3;

-- unended: returns the producers of a task that add rows or broke off.
SELECT producer.name, producer.state FROM hk.producer AS producer JOIN hk.task_record AS task ON task.key = producer.task
WHERE task.id = $1 AND task.deleting = 0 AND producer.state IN (0, 2) AND producer.retry = 0 ORDER BY producer.name;

-- endAll: ends all producers of a task.
UPDATE hk.producer SET state = 1 WHERE task = $1 AND state IN (0, 2);

-- open: returns the tasks to which a producer is adding rows.
SELECT task.id FROM hk.producer AS producer JOIN hk.task_record AS task ON task.key = producer.task
WHERE producer.name = $1 AND producer.state = 0;
