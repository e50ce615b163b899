-- When a task's run began (null: with the task), and how many rows had ended before it and are none of it.
ALTER TABLE task ADD COLUMN run_at INTEGER;
ALTER TABLE task ADD COLUMN ended_before INTEGER NOT NULL DEFAULT 0;
