-- When a task's run began (null: with the task), and how many rows had ended before it and are none of it.
ALTER TABLE task ADD COLUMN run_at INTEGER;
ALTER TABLE task ADD COLUMN ended_before INTEGER NOT NULL DEFAULT 0;
-- Some of its rows have a class of their own.
ALTER TABLE task ADD COLUMN mixed INTEGER NOT NULL DEFAULT 0 CHECK (mixed IN (0, 1));
UPDATE task SET mixed = 1 WHERE EXISTS (SELECT 1 FROM event WHERE event.task = task.key AND event.job IS NOT NULL);
