-- The functions of the store. Each migration replaces all of them, in its transaction, so a change of this file needs a new file in
-- migrations/, too; it may be a comment alone.
-- Processes of older versions go on calling these functions until they are restarted. A function therefore keeps its name, its
-- arguments with their names and order, and the rows that it returns. One that needs others gets a new name (step_plain_2), and
-- the old one stays here, and works with the new tables. A later migration drops it, when no supported version calls it.
--
-- Most are one round trip of a hot path. Those with SET enable_… = off use the indexes also when the statistics of a table are
-- old; those with force_generic_plan are planned once for each connection. `lock` is the advisory lock of the writers. Those that
-- share it run at the same time, and never beside a writer.
--
-- The caller's search_path may lead to functions of the app that have the names of PostgreSQL's. SET search_path takes 3 µs, so the
-- hottest functions name those of PostgreSQL with pg_catalog instead; unnest with several arrays is always PostgreSQL's own.

-- Returns the server's clock in microseconds since the epoch. It is the clock of leases, locks and limits.
CREATE OR REPLACE FUNCTION hk.micros() RETURNS bigint LANGUAGE sql VOLATILE AS $$ SELECT (extract(epoch FROM pg_catalog.clock_timestamp()) * 1000000)::bigint $$;

-- Moves the sums of the changes to the queues and the totals, unless another step moves them or a writer has the lock.
CREATE OR REPLACE FUNCTION hk.sum_changes(lock bigint) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT pg_try_advisory_xact_lock_shared(lock) OR NOT pg_try_advisory_xact_lock(lock + 1) THEN RETURN; END IF;
  WITH gone AS (DELETE FROM hk.queue_change RETURNING queue, change)
  UPDATE hk.queue SET size = size + changed FROM (SELECT queue, sum(change) AS changed FROM gone GROUP BY queue) AS sums
  WHERE id = queue AND changed <> 0;
  WITH gone AS (DELETE FROM hk.stat_change RETURNING day, processed), sums AS (
    SELECT day, sum(processed) AS processed FROM gone GROUP BY day
    UNION ALL SELECT '', sum(processed) FROM gone HAVING count(*) > 0
  )
  INSERT INTO hk.stat AS stat (day, processed) SELECT day, processed FROM sums
  ON CONFLICT (day) DO UPDATE SET processed = stat.processed + excluded.processed;
END $$;

-- Stores jobs without effects at the back of a queue. It does not wait for the writers. packs: a text on each line, and U+001E between
-- two packs: PostgreSQL splits a text much faster at a single byte. jobs: their number. If each pack has one job, the jobs go to hk.ready.
-- Returns false, and stores nothing, if the queue is new or hidden.
CREATE OR REPLACE FUNCTION hk.push_packs(lock bigint, queue_name text, packs text, jobs bigint, priority_offset bigint) RETURNS boolean
LANGUAGE plpgsql SET lock_timeout = '5s' AS $$
DECLARE
  queue_id bigint;
  all_packs text[] := pg_catalog.string_to_array(packs, E'\x1e');
BEGIN
  SELECT id INTO queue_id FROM hk.queue WHERE name = queue_name AND cleared = 0;
  IF NOT FOUND THEN RETURN false; END IF;
  IF pg_catalog.cardinality(all_packs) = jobs THEN
    INSERT INTO hk.ready (queue, position, text)
    SELECT queue_id, pg_catalog.nextval('hk.back_position') - priority_offset, job FROM pg_catalog.unnest(all_packs) AS jobs (job);
  ELSE
    INSERT INTO hk.pack (queue, position, text)
    SELECT queue_id, pg_catalog.nextval('hk.back_position') - priority_offset, pack FROM pg_catalog.unnest(all_packs) AS packs (pack);
  END IF;
  INSERT INTO hk.queue_change VALUES (queue_id, jobs);
  IF pg_catalog.random() < 0.01 THEN PERFORM hk.sum_changes(lock); END IF;
  RETURN true;
END $$;

-- Moves each pack that has a job from position `low` to `high` to hk.ready, as a whole.
CREATE OR REPLACE FUNCTION hk.unpack(queue_id bigint, low bigint, high bigint) RETURNS void LANGUAGE sql AS $$
  WITH gone AS (
    DELETE FROM hk.pack WHERE queue = queue_id AND position > low - 8 AND position <= high RETURNING position, text
  )
  INSERT INTO hk.ready (queue, position, text)
  SELECT queue_id, position + nth - 1, job
  FROM gone CROSS JOIN LATERAL pg_catalog.unnest(pg_catalog.string_to_array(text, E'\n')) WITH ORDINALITY AS jobs (job, nth)
$$;

-- Unpacks as many of the next packs as a fetch of at most `most` jobs needs, in the order of the queues. Locks the ready jobs in front of
-- them, so that the fetch finds these, and counts none that another step is fetching. Returns for each of the names from which position on
-- the fetch finds jobs (NULL: any). The rows in front of it may be dead while a snapshot is open, and a fetch passes them only once.
CREATE OR REPLACE FUNCTION hk.unpack_next(names text[], most bigint) RETURNS bigint[] LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  very_first record;
  ids bigint[];
  first_packs bigint[];
  first_jobs bigint[] := pg_catalog.array_fill(NULL::bigint, ARRAY[pg_catalog.cardinality(names)]);
  first_job bigint;
  ready_jobs bigint;
  moved bigint;
  missing bigint := most;
BEGIN
  SELECT queue, position INTO very_first FROM hk.pack ORDER BY queue, position LIMIT 1;
  IF NOT FOUND THEN RETURN NULL; END IF;
  SELECT pg_catalog.array_agg(id), pg_catalog.array_agg(first_pack) INTO ids, first_packs FROM (
    SELECT id, CASE WHEN id = very_first.queue THEN very_first.position WHEN id > very_first.queue THEN
      (SELECT position FROM hk.pack AS pack WHERE pack.queue = id ORDER BY position LIMIT 1) END AS first_pack
    FROM pg_catalog.unnest(names) WITH ORDINALITY AS asked (name, n) LEFT JOIN hk.queue AS queue
      ON queue.name = asked.name AND NOT EXISTS (SELECT 1 FROM hk.paused AS paused WHERE paused.queue = queue.name)
    ORDER BY n
  ) AS queues;
  IF pg_catalog.array_remove(first_packs, NULL) = '{}' THEN RETURN NULL; END IF;
  FOR i IN 1 .. pg_catalog.cardinality(names) LOOP
    CONTINUE WHEN ids[i] IS NULL;
    SELECT pg_catalog.count(*), pg_catalog.min(position) INTO ready_jobs, first_job FROM (
      SELECT position FROM hk.ready WHERE queue = ids[i] AND position < coalesce(first_packs[i], 9000000000000000)
      ORDER BY position LIMIT missing FOR UPDATE SKIP LOCKED
    ) AS before;
    first_jobs[i] := coalesce(first_job, first_packs[i], 9000000000000000);
    missing := missing - ready_jobs;
    WHILE missing > 0 AND first_packs[i] IS NOT NULL LOOP
      WITH gone AS (
        DELETE FROM hk.pack WHERE ctid = ANY (ARRAY(
          SELECT ctid FROM hk.pack WHERE queue = ids[i] AND position >= first_packs[i] ORDER BY position LIMIT (missing + 7) / 8 FOR UPDATE SKIP LOCKED
        )) RETURNING position, text
      )
      INSERT INTO hk.ready (queue, position, text)
      SELECT ids[i], position + nth - 1, job
      FROM gone CROSS JOIN LATERAL pg_catalog.unnest(pg_catalog.string_to_array(text, E'\n')) WITH ORDINALITY AS jobs (job, nth);
      GET DIAGNOSTICS moved = ROW_COUNT;
      EXIT WHEN moved = 0;
      missing := missing - moved;
    END LOOP;
    EXIT WHEN missing <= 0;
  END LOOP;
  RETURN first_jobs;
END $$;

-- Returns the first `most` jobs (NULL: all) of a queue, packed or not, in the order in which they are fetched: those between the
-- positions `low` and `high`, or any. A loop over the packs gives the jobs in order, so no sort reads further packs before the LIMIT;
-- with an ORDER BY, old statistics would lead to one.
CREATE OR REPLACE FUNCTION hk.oldest_jobs(
  queue_id bigint, most bigint, low bigint DEFAULT -9000000000000000, high bigint DEFAULT 9000000000000000
)
RETURNS TABLE (at_position bigint, job text) LANGUAGE sql STABLE AS $$
  SELECT position, text FROM (
    (SELECT position, text FROM hk.ready WHERE queue = queue_id AND position > low AND position < high ORDER BY position LIMIT most)
    UNION ALL (
      SELECT position + nth - 1, line FROM (
        SELECT position, text FROM hk.pack WHERE queue = queue_id AND position > low - 8 AND position < high ORDER BY position LIMIT most + 1
      ) AS pack CROSS JOIN LATERAL (
        SELECT line, nth FROM pg_catalog.unnest(pg_catalog.string_to_array(text, E'\n')) WITH ORDINALITY AS lines (line, nth) ORDER BY nth
      ) AS jobs
      WHERE position + nth - 1 > low AND position + nth - 1 < high LIMIT most
    )
  ) AS jobs ORDER BY position LIMIT most
$$;

-- Does the same newest first, with the last `most` jobs.
CREATE OR REPLACE FUNCTION hk.newest_jobs(
  queue_id bigint, most bigint, low bigint DEFAULT -9000000000000000, high bigint DEFAULT 9000000000000000
)
RETURNS TABLE (at_position bigint, job text) LANGUAGE sql STABLE AS $$
  SELECT position, text FROM (
    (SELECT position, text FROM hk.ready WHERE queue = queue_id AND position > low AND position < high ORDER BY position DESC LIMIT most)
    UNION ALL (
      SELECT position + nth - 1, line FROM (
        SELECT position, text FROM hk.pack WHERE queue = queue_id AND position > low - 8 AND position < high ORDER BY position DESC LIMIT most + 1
      ) AS pack CROSS JOIN LATERAL (
        SELECT line, nth FROM pg_catalog.unnest(pg_catalog.string_to_array(text, E'\n')) WITH ORDINALITY AS lines (line, nth) ORDER BY nth DESC
      ) AS jobs
      WHERE position + nth - 1 > low AND position + nth - 1 < high LIMIT most
    )
  ) AS jobs ORDER BY position DESC LIMIT most
$$;

-- One step of a worker whose ended jobs are done and have no effects: deletes them, counts them, keeps some as a pack of finished jobs,
-- and fetches at most `most` jobs of the queues, in their order. The tickets of the ended jobs are columns. kept_runs (or an empty
-- array, if no job is kept): for each ended job the number (from 1) of its score and its members, or 0 if it is not kept. Returns rows:
-- `owner` with the newest version of the cancellations and the number of jobs deleted (no such row: the owner has no lease, and nothing
-- was done), `settled` with the place (from 1) of each job deleted if some were not there, and `fetched`.
CREATE OR REPLACE FUNCTION hk.step_plain_2(
  lock bigint, owner_name text, ended_queues bigint[], ended_positions bigint[], ended_fetches bigint[], today text, names text[],
  most bigint, this_fetch bigint, kept_runs integer[], run_scores double precision[], run_members text[]
) RETURNS TABLE (kind text, queue_id bigint, at_position bigint, queue_name text, job text) LANGUAGE plpgsql
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan
SET lock_timeout = '5s' AS $$
DECLARE
  own bigint;
  gone bigint[];
  kept_scores double precision[];
  kept_texts text[];
  first_jobs bigint[];
BEGIN
  PERFORM pg_catalog.pg_advisory_xact_lock_shared(lock);
  SELECT id INTO own FROM hk.owner WHERE name = owner_name AND claimed = 0;
  IF NOT FOUND THEN RETURN; END IF;
  IF pg_catalog.cardinality(ended_queues) > 0 THEN
    WITH deleted AS (
      DELETE FROM hk.fetched AS fetched
      USING unnest(ended_queues, ended_positions, ended_fetches, kept_runs) WITH ORDINALITY AS ended (queue, position, fetch_number, run, nth)
      CROSS JOIN LATERAL (
        SELECT ctid AS row_id FROM hk.fetched AS owned WHERE owned.owner = own AND owned.queue = ended.queue
          AND owned.position = ended.position AND owned.fetch_number = ended.fetch_number OFFSET 0
      ) AS found
      WHERE fetched.ctid = found.row_id
      RETURNING nth, run, CASE WHEN run > 0 THEN pg_catalog."left"(fetched.text, -1) || run_members[run] || '}' END AS kept
    )
    SELECT pg_catalog.array_agg(nth), pg_catalog.array_agg(run_scores[run]) FILTER (WHERE run > 0), pg_catalog.array_agg(kept) FILTER (WHERE run > 0)
    INTO gone, kept_scores, kept_texts FROM deleted;
    IF gone IS NOT NULL THEN INSERT INTO hk.stat_change VALUES (today, pg_catalog.cardinality(gone)); END IF;
    IF kept_texts IS NOT NULL THEN
      INSERT INTO hk.finished_pack (size, oldest, newest, scores, texts)
      SELECT pg_catalog.cardinality(kept_texts), pg_catalog.min(score), pg_catalog.max(score), kept_scores, kept_texts
      FROM pg_catalog.unnest(kept_scores) AS score;
    END IF;
  END IF;
  RETURN QUERY SELECT 'owner', version, coalesce(pg_catalog.cardinality(gone), 0)::bigint, NULL, NULL FROM hk.newest_cancellation;
  IF pg_catalog.cardinality(gone) < pg_catalog.cardinality(ended_queues) THEN
    RETURN QUERY SELECT 'settled', NULL::bigint, nth, NULL, NULL FROM pg_catalog.unnest(gone) AS nth;
  END IF;
  IF most > 0 THEN
    first_jobs := hk.unpack_next(names, most);
    RETURN QUERY WITH wanted AS (
      SELECT queue.id, queue.name, n, coalesce(first_job, -9000000000000000) AS first_job
      FROM unnest(names, first_jobs) WITH ORDINALITY AS asked (name, first_job, n) JOIN hk.queue AS queue USING (name)
      WHERE NOT EXISTS (SELECT 1 FROM hk.paused AS paused WHERE paused.queue = queue.name) ORDER BY n
    ), found AS (
      SELECT next.row_id FROM wanted CROSS JOIN LATERAL (
        SELECT ready.ctid AS row_id FROM hk.ready AS ready WHERE ready.queue = wanted.id AND ready.position >= wanted.first_job
        ORDER BY position LIMIT most FOR UPDATE SKIP LOCKED
      ) AS next LIMIT most
    ), fetched_jobs AS (
      DELETE FROM hk.ready WHERE ctid = ANY (ARRAY(SELECT row_id FROM found)) RETURNING queue, position, text
    ), owned AS (
      INSERT INTO hk.fetched (owner, queue, position, fetch_number, text) SELECT own, queue, position, this_fetch, text FROM fetched_jobs
    ), sizes AS (
      INSERT INTO hk.queue_change SELECT queue, -pg_catalog.count(*) FROM fetched_jobs GROUP BY queue
    )
    SELECT 'fetched', fetched_jobs.queue, fetched_jobs.position, wanted.name, fetched_jobs.text FROM fetched_jobs JOIN wanted ON wanted.id = fetched_jobs.queue
    ORDER BY n, fetched_jobs.position;
  END IF;
  IF pg_catalog.random() < 0.01 THEN PERFORM hk.sum_changes(lock); END IF;
END $$;

-- Workers of versions before step_plain_2 call this function. It keeps no finished jobs.
CREATE OR REPLACE FUNCTION hk.step_plain(
  lock bigint, owner_name text, ended_queues bigint[], ended_positions bigint[], ended_fetches bigint[], today text, names text[],
  most bigint, this_fetch bigint
) RETURNS TABLE (kind text, queue_id bigint, at_position bigint, queue_name text, job text) LANGUAGE sql AS $$
  SELECT * FROM hk.step_plain_2(lock, owner_name, ended_queues, ended_positions, ended_fetches, today, names, most, this_fetch, '{}', '{}', '{}')
$$;

-- Adds messages to rows. Of a row with too many, deletes the oldest ones behind the first `firsts`, so that `lasts` others stay.
CREATE OR REPLACE FUNCTION hk.add_messages(
  tasks bigint[], rows bigint[], times bigint[], codes text[], all_params text[], firsts bigint, lasts bigint
) RETURNS void LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
  WITH new AS (
    SELECT task, idx, at, code, params, row_number() OVER (PARTITION BY task, idx ORDER BY i)
      + coalesce((SELECT max(n) FROM hk.message AS message WHERE message.task = new.task AND message.idx = new.idx), 0) AS n
    FROM unnest(tasks, rows, times, codes, all_params) WITH ORDINALITY AS new (task, idx, at, code, params, i)
  ), last AS (
    SELECT task, idx, max(n) AS n FROM new GROUP BY task, idx
  ), dropped AS (
    DELETE FROM hk.message AS message USING last
    WHERE message.task = last.task AND message.idx = last.idx AND message.n > firsts AND message.n <= last.n - lasts
  )
  INSERT INTO hk.message (task, idx, n, at, code, params)
  SELECT task, idx, new.n, at, code, params FROM new JOIN last USING (task, idx) WHERE new.n <= firsts OR new.n > last.n - lasts;
$$;

-- One step of a worker in which rows of tasks begin, finish or fail: does what step_plain_2 does, changes the rows and the counts of
-- their tasks, and refills the windows. Steps for different tasks run at the same time. failures: the number of jobs that failed.
-- endings: how the jobs of rows end, for templates with times in milliseconds and in seconds (rowMembers). Returns what step_plain_2
-- returns, and `refilled` for each queue that got jobs. Or only `other`: the step needs more than this, and nothing was done.
CREATE OR REPLACE FUNCTION hk.step_rows(
  lock bigint, owner_name text, ended_queues bigint[], ended_positions bigint[], ended_fetches bigint[], today text, names text[],
  most bigint, this_fetch bigint, now_ms bigint, failures bigint, endings text[],
  begun_tasks text[], begun_rows bigint[], begun_runs integer[], begun_steps integer[], begun_at bigint[],
  done_tasks text[], done_rows bigint[], done_runs integer[], done_steps integer[], done_at bigint[], done_started bigint[],
  done_statuses smallint[], done_codes text[], done_results text[],
  message_tasks text[], message_rows bigint[], message_times bigint[], message_codes text[], message_params text[],
  first_messages bigint, last_messages bigint
) RETURNS TABLE (kind text, queue_id bigint, at_position bigint, queue_name text, job text) LANGUAGE plpgsql
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan
SET lock_timeout = '5s' SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  own bigint;
  left_begun bigint := cardinality(begun_rows);
  left_done bigint := cardinality(done_rows);
  ledger record;
  room bigint;
  in_seconds boolean;
  opening text;
  issued bigint;
  last_idx bigint;
  id_of_queue bigint;
  refilled text[] := '{}';
BEGIN
  PERFORM pg_advisory_xact_lock_shared(lock);
  SELECT id INTO own FROM hk.owner WHERE name = owner_name AND claimed = 0;
  IF NOT FOUND THEN RETURN; END IF;
  BEGIN
    PERFORM 1 FROM hk.task_record WHERE id = ANY(begun_tasks || done_tasks) ORDER BY key FOR NO KEY UPDATE;
    IF (
      SELECT count(*) FROM unnest(ended_queues, ended_positions, ended_fetches) AS ended (queue, position, fetch_number)
      JOIN hk.fetched AS fetched
        ON fetched.owner = own AND fetched.queue = ended.queue AND fetched.position = ended.position
        AND fetched.fetch_number = ended.fetch_number
    ) < cardinality(ended_queues) THEN RAISE SQLSTATE 'HK001'; END IF;
    FOR ledger IN
      WITH begun AS (
        UPDATE hk.task_row AS event SET status = 1, step = new.step, code = NULL, finished_at = NULL, started_at = new.at
        FROM unnest(begun_tasks, begun_rows, begun_runs, begun_steps, begun_at) AS new (id, idx, run, step, at)
        JOIN hk.task_record AS record ON record.id = new.id AND record.deleting = 0 AND record.state NOT IN ('cancelling', 'cancelled')
        WHERE event.task = record.key AND event.idx = new.idx AND event.run = new.run AND event.status = 0 AND event.step = new.step - 1
          AND (event.location IN (1, 2) OR event.location = 3 AND event.idx < record.next)
        RETURNING event.task
      ), done AS (
        UPDATE hk.task_row AS event SET status = new.status, location = 2, step = new.step, code = new.code,
          started_at = coalesce(new.started_at, event.started_at), finished_at = new.at, result = new.result,
          args = CASE WHEN record.keep_args = 'all' OR record.keep_args = 'rejected' AND new.status > 2 THEN event.args END,
          source = CASE WHEN record.keep_args = 'all' OR record.keep_args = 'rejected' AND new.status > 2 THEN event.source END
        FROM unnest(done_tasks, done_rows, done_runs, done_steps, done_at, done_started, done_statuses, done_codes, done_results)
          AS new (id, idx, run, step, at, started_at, status, code, result)
        JOIN hk.task_record AS record ON record.id = new.id AND record.deleting = 0
        JOIN hk.task_row AS before ON before.task = record.key AND before.idx = new.idx
        WHERE event.task = record.key AND event.idx = new.idx AND event.run = new.run
          AND (event.status = 0 AND event.step = new.step - 2 OR event.status = 1 AND event.step = new.step - 1)
          AND (event.location IN (1, 2) OR event.location = 3 AND event.idx < record.next)
        RETURNING event.task, event.status, event.code, event.run, before.status AS status_before, before.location AS location_before
      ), reasons AS (
        INSERT INTO hk.reason AS reason (task, status, code, count)
        SELECT done.task, done.status, coalesce(done.code, ''), count(*) FROM done WHERE done.status > 2 GROUP BY 1, 2, 3
        ON CONFLICT (task, status, code) DO UPDATE SET count = reason.count + excluded.count
      ), changed AS (
        SELECT begun.task, 1 AS status, NULL::integer AS run, NULL::smallint AS status_before, NULL::smallint AS location_before FROM begun
        UNION ALL SELECT done.task, done.status, done.run, status_before, location_before FROM done
      ), counts AS (
        SELECT changed.task, count(*) FILTER (WHERE status = 1) AS begun, count(*) FILTER (WHERE status > 1) AS done,
          count(*) FILTER (WHERE status = 3) AS failed, max(run) FILTER (WHERE status = 3) AS failed_in,
          count(*) FILTER (WHERE status_before = 1) AS were_working, count(*) FILTER (WHERE location_before <> 2) AS left_window
        FROM changed GROUP BY changed.task
      )
      SELECT record.key, record.id, record.queue, record.template, record.state, record.paused, record.moving, record.producers,
        record.broken, record.on_done, record.on_failure, record.max_failures, record.failed_run, record.keep, record.run, record.next,
        record.backlog, record.rows_per_job, record.window_size, counts.begun, counts.done, counts.failed, counts.failed_in,
        record.enqueued - counts.begun - counts.done + counts.were_working AS enqueued,
        record.working + counts.begun - counts.were_working AS working, record.in_window - counts.left_window AS in_window
      FROM counts JOIN hk.task_record AS record ON record.key = counts.task
    LOOP
      left_begun := left_begun - ledger.begun;
      left_done := left_done - ledger.done;
      IF ledger.failed > 0 AND (ledger.max_failures IS NOT NULL OR ledger.on_failure IS NOT NULL AND ledger.failed_run < ledger.failed_in)
      THEN RAISE SQLSTATE 'HK001'; END IF;
      room := least(ledger.window_size - ledger.in_window, ledger.backlog);
      issued := 0;
      IF room > 0 AND ledger.paused = 0 AND ledger.moving = 0 AND ledger.state NOT IN ('cancelling', 'cancelled') THEN
        SELECT id INTO id_of_queue FROM hk.queue WHERE name = ledger.queue AND cleared = 0;
        IF NOT FOUND OR ledger.rows_per_job IS NOT NULL OR EXISTS (SELECT 1 FROM hk.backlog AS backlog WHERE backlog.task = ledger.key)
        THEN RAISE SQLSTATE 'HK001'; END IF;
        in_seconds := right(ledger.template, 19) = ',"enqueued_at":0.0}';
        opening := CASE WHEN in_seconds THEN left(ledger.template, -19) ELSE left(ledger.template, -1) END;
        opening := opening || CASE WHEN opening = '{' THEN '' ELSE ',' END || '"args":';
        WITH next AS (
          SELECT idx, run, args FROM hk.task_row AS event
          WHERE event.task = ledger.key AND idx >= ledger.next AND location = 3 ORDER BY idx LIMIT room
        ), moved AS (
          INSERT INTO hk.ready (queue, position, text)
          SELECT id_of_queue, nextval('hk.back_position'),
            opening || args || ',"jid":"' || ledger.id || lpad(to_hex(idx), 8, '0') || '","hk_run":' || next.run || endings[CASE WHEN in_seconds THEN 2 ELSE 1 END]
          FROM next WHERE left(args, 1) = '[' ORDER BY idx
        )
        SELECT count(*) FILTER (WHERE left(args, 1) = '['), max(idx) INTO issued, last_idx FROM next;
        -- Some rows are whole jobs.
        IF issued < room THEN RAISE SQLSTATE 'HK001'; END IF;
        INSERT INTO hk.queue_change VALUES (id_of_queue, issued);
        refilled := array_append(refilled, ledger.queue);
      END IF;
      IF ledger.enqueued + ledger.working = 0 AND NOT (ledger.state = 'adding' AND ledger.producers > 0 AND ledger.paused = 0) THEN
        -- The task ends. A callback or another state than `done` is left to the ledger.
        IF ledger.state <> 'running' OR ledger.producers + ledger.broken + ledger.paused > 0 OR ledger.on_done IS NOT NULL THEN
          RAISE SQLSTATE 'HK001';
        END IF;
        UPDATE hk.task_record SET state = 'done', enqueued = 0, working = 0, finished = finished + ledger.done - ledger.failed,
          failed = failed + ledger.failed, failed_run = greatest(failed_run, ledger.failed_in), in_window = ledger.in_window, next = total,
          progress_at = now_ms, finished_at = now_ms, expires_at = now_ms + ledger.keep, done_run = ledger.run
        WHERE key = ledger.key;
      ELSE
        UPDATE hk.task_record SET enqueued = ledger.enqueued, working = ledger.working, finished = finished + ledger.done - ledger.failed,
          failed = failed + ledger.failed, failed_run = greatest(failed_run, ledger.failed_in),
          in_window = ledger.in_window + issued, backlog = ledger.backlog - issued,
          next = CASE WHEN issued > 0 THEN last_idx + 1 ELSE next END, progress_at = now_ms
        WHERE key = ledger.key;
      END IF;
    END LOOP;
    IF left_begun + left_done > 0 THEN RAISE SQLSTATE 'HK001'; END IF;
    IF cardinality(message_tasks) > 0 THEN
      PERFORM hk.add_messages(
        ARRAY(SELECT record.key FROM unnest(message_tasks) WITH ORDINALITY AS said (id, n) JOIN hk.task_record AS record USING (id) ORDER BY n),
        message_rows, message_times, message_codes, message_params, first_messages, last_messages
      );
    END IF;
    IF failures > 0 THEN
      INSERT INTO hk.stat AS stat (day, failed) VALUES (today, failures), ('', failures)
      ON CONFLICT (day) DO UPDATE SET failed = stat.failed + excluded.failed;
    END IF;
  EXCEPTION WHEN SQLSTATE 'HK001' THEN
    RETURN QUERY SELECT 'other', NULL::bigint, NULL::bigint, NULL, NULL;
    RETURN;
  END;
  RETURN QUERY SELECT 'refilled', NULL::bigint, NULL::bigint, name, NULL FROM unnest(refilled) AS names (name);
  RETURN QUERY SELECT * FROM hk.step_plain_2(lock, owner_name, ended_queues, ended_positions, ended_fetches, today, names, most, this_fetch, '{}', '{}', '{}');
END $$;

-- Functions for transactions of the app (app-transaction.ts). Texts go in and come out, because drivers read other types in ways of their own.

-- Describes the transaction, as JSON: its number, its isolation level, and the ids of those of the queues that are listed.
CREATE OR REPLACE FUNCTION hk.app_transaction(names text) RETURNS text LANGUAGE sql
SET search_path = pg_catalog, pg_temp AS $$
SELECT json_build_object('number', txid_current()::text, 'level', current_setting('transaction_isolation'), 'queues', coalesce((
  SELECT json_object_agg(name, id) FROM hk.queue WHERE cleared = 0 AND name IN (SELECT json_array_elements_text(names::json))
), '{}'))::text
$$;

-- Stores jobs without effects at the back of queues that exist, and (payload is not empty) wakes workers at the commit. It takes no
-- lock. Three JSON arrays have the id of the queue of each job, what is subtracted from its position, and its text. Returns no, and
-- stores nothing, if the transaction has another number.
CREATE OR REPLACE FUNCTION hk.app_push(number text, queues text, offsets text, texts text, channel text, payload text) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF txid_current()::text <> number THEN RETURN 'no'; END IF;
  INSERT INTO hk.ready (queue, position, text)
  SELECT queue::bigint, nextval('hk.back_position') - priority_offset::bigint, job FROM ROWS FROM (
    json_array_elements_text(queues::json), json_array_elements_text(offsets::json), json_array_elements_text(texts::json)
  ) WITH ORDINALITY AS jobs (queue, priority_offset, job, n) ORDER BY n;
  INSERT INTO hk.queue_change SELECT queue::bigint, count(*) FROM json_array_elements_text(queues::json) AS queue GROUP BY queue;
  IF payload <> '' THEN PERFORM pg_notify(channel, payload); END IF;
  RETURN 'yes';
END $$;

-- Takes the lock of the writers until the transaction ends. Returns no, and fails nothing, if others keep it for 5 seconds. idle (or an
-- empty text): the server ends the transaction if its process is frozen for this long.
CREATE OR REPLACE FUNCTION hk.app_lock(lock text, idle text) RETURNS text LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(lock::bigint);
  IF idle <> '' THEN PERFORM set_config('idle_in_transaction_session_timeout', idle, true); END IF;
  RETURN 'yes';
EXCEPTION WHEN lock_not_available THEN
  RETURN 'no';
END $$;

-- Runs a statement with the values of a JSON array instead of %1$L, %2$L and so on. Returns its rows as JSON, or (has_rows = no) the
-- number of rows that it changed.
CREATE OR REPLACE FUNCTION hk.app_run(statement text, parameters text, has_rows text) RETURNS text LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  command text := format(statement, VARIADIC ARRAY(SELECT json_array_elements_text(parameters::json)));
  one record;
  found_rows text[] := '{}';
  changed bigint;
BEGIN
  IF has_rows = 'yes' THEN
    FOR one IN EXECUTE command LOOP found_rows := found_rows || row_to_json(one)::text; END LOOP;
    RETURN '[' || array_to_string(found_rows, ',') || ']';
  END IF;
  EXECUTE command;
  GET DIAGNOSTICS changed = ROW_COUNT;
  RETURN changed;
END $$;
