-- So many rows of a task are one job, which gets them as a list; NULL: each row is one, with its arguments.
ALTER TABLE task ADD COLUMN rows_per_job INTEGER CHECK (rows_per_job > 0);
