-- When a single job that was scheduled is due (ms): until then nobody looks for it. NULL: it was not scheduled.
ALTER TABLE task ADD COLUMN due_at INTEGER;
CREATE INDEX cancelling_task ON task (key) WHERE state = 'cancelling';
