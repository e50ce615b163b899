-- The view of tasks shows U+FFFD in place of U+0000 and of half a surrogate pair in `meta`, which PostgreSQL can't read.
CREATE OR REPLACE VIEW hk.task AS SELECT
  id, name,
  job, queue,
  state,
  run,
  total, enqueued, working, finished, failed, error, cancelled,
  single = 1 AS single,
  regexp_replace(meta, '\\u(0000|d[89a-f][0-9a-f]{2})', '\\ufffd', 'g')::json -> 'own' AS meta,
  coalesce((SELECT json_object_agg(label.name, label.value) FROM hk.task_label AS label WHERE label.task = task_record.key), '{}')
    AS labels,
  to_timestamp(created_at / 1000.0) AS created_at,
  to_timestamp(progress_at / 1000.0) AS progress_at,
  to_timestamp(finished_at / 1000.0) AS finished_at
FROM hk.task_record AS task_record WHERE deleting = 0;
