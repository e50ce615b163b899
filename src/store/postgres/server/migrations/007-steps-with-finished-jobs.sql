-- A step that keeps finished jobs is one statement (step_plain_2), and the size of their set is that of its rows, so that steps of
-- several workers do not change the same row.
UPDATE hk.job_set SET size = size - (SELECT coalesce(sum(size), 0) FROM hk.finished_pack) WHERE id = -1;
