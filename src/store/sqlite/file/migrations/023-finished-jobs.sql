-- The set of finished jobs.
INSERT INTO job_set (id, name) VALUES (-1, 'finished');
