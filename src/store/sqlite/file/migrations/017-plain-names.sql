-- Tables, columns and the codes of events get the names of docs/glossary.md. Of the rows only those with such a code
-- change, so that this is quick in a file of any size. Jobs are read with the old names of their members.
ALTER TABLE ready RENAME COLUMN place TO position;
ALTER TABLE working RENAME COLUMN place TO position;
ALTER TABLE working RENAME TO fetched;
ALTER TABLE sorted_set RENAME TO job_set;
ALTER TABLE duty RENAME TO leader_lock;
ALTER TABLE deploy RENAME COLUMN marked TO recorded_at;

-- Cancellations of jobs. The version of a job that was found and dropped is negative, the time of the drop.
ALTER TABLE mark RENAME TO cancellation;
ALTER TABLE newest_mark RENAME TO newest_cancellation;
DROP INDEX mark_by_version;
CREATE INDEX cancellation_by_version ON cancellation (version);

-- backlog: the number of rows that are not yet queued. in_window: the number of jobs in the queue or with an owner.
-- producer: who created the task or resumed its adding. producers: how many add rows; broken: how many broke off.
-- cancel_from: the index from which cancelling continues. deleting: the task is invisible and is being deleted.
ALTER TABLE task RENAME COLUMN keep_params TO keep_args;
ALTER TABLE task RENAME COLUMN tolerance TO max_failures;
ALTER TABLE task RENAME COLUMN beyond TO on_max_failures;
ALTER TABLE task RENAME COLUMN unknown_after TO lost_after;
ALTER TABLE task RENAME COLUMN held TO backlog;
ALTER TABLE task RENAME COLUMN placed TO in_window;
ALTER TABLE task RENAME COLUMN adder TO producer;
ALTER TABLE task RENAME COLUMN adders TO producers;
ALTER TABLE task RENAME COLUMN swept TO cancel_from;
ALTER TABLE task RENAME COLUMN doomed TO deleting;

-- cursor: the number of rows that the producer has added. state: 0 adds rows, 1 has ended, 2 broke off, 3 was replaced by
-- another producer, 4 is a row of the task. retry: it puts rows back, and its death does not interrupt the task.
ALTER TABLE adder RENAME TO producer;
ALTER TABLE producer RENAME COLUMN token TO name;
DROP INDEX open_adder;
CREATE INDEX open_producer ON producer (name) WHERE state = 0;

-- location: 0 in the backlog, 1 in the window, 2 elsewhere, 3 never queued: from task.next on, else in the window.
ALTER TABLE event RENAME COLUMN place TO location;
ALTER TABLE backlog RENAME COLUMN place TO position;

-- version: grows with each change that waiting owners must see. reshard_after: the id behind which resharding continues.
ALTER TABLE ordered_queue RENAME COLUMN news TO version;
ALTER TABLE ordered_queue RENAME COLUMN swept TO reshard_after;
-- fetch_number: the number of the last fetch. next_due: when (ms) the next id is due, as the owner knows.
ALTER TABLE ordered_shard RENAME COLUMN take TO fetch_number;
ALTER TABLE ordered_shard RENAME COLUMN known TO next_due;
-- in_flight: 1 while the id is in flight as well, and must not be fetched.
ALTER TABLE ordered_waiting RENAME COLUMN held TO in_flight;
ALTER TABLE ordered_waiting RENAME COLUMN stalls TO crashes;
-- (shard, fetch_number, id) is the ticket. has_waiting: the id may have waiting payloads.
ALTER TABLE ordered_flight RENAME TO ordered_in_flight;
ALTER TABLE ordered_in_flight RENAME COLUMN take TO fetch_number;
ALTER TABLE ordered_in_flight RENAME COLUMN taken_at TO fetched_at;
ALTER TABLE ordered_in_flight RENAME COLUMN more TO has_waiting;
ALTER TABLE ordered_in_flight RENAME COLUMN stalls TO crashes;

-- An error of the app may have the same code as an event of Highkiq's own. Then its last message, but for those of
-- ctx.message, is that error.
UPDATE event SET code = CASE code WHEN 'foreign' THEN 'ran-elsewhere' WHEN 'stalled' THEN 'crashed' ELSE 'filtered' END
WHERE task IN (SELECT task FROM reason WHERE code IN ('foreign', 'stalled', 'stopped'))
  AND code IN ('foreign', 'stalled', 'stopped') AND status >= 3
  AND code = (SELECT code FROM message WHERE task = event.task AND idx = event.idx AND code <> 'message'
    ORDER BY n DESC LIMIT 1);
INSERT OR REPLACE INTO reason
SELECT task, status, code, count(*) FROM event
WHERE task IN (SELECT task FROM reason WHERE code IN ('foreign', 'stalled', 'stopped'))
  AND code IN ('foreign', 'stalled', 'stopped', 'ran-elsewhere', 'crashed', 'filtered') AND status >= 3
GROUP BY task, status, code;
DELETE FROM reason WHERE code IN ('foreign', 'stalled', 'stopped') AND NOT EXISTS (
  SELECT 1 FROM event AS e WHERE e.task = reason.task AND e.code = reason.code AND e.status = reason.status AND e.status >= 3
);
UPDATE message SET
  code = CASE code WHEN 'foreign' THEN 'ran-elsewhere' WHEN 'stalled' THEN 'crashed' WHEN 'stopped' THEN 'filtered'
    WHEN 'restored' THEN 'rescued' ELSE 'split' END,
  params = replace(params, '"stalls":', '"crashes":')
WHERE code IN ('foreign', 'stalled', 'stopped', 'restored', 'apart');
UPDATE task SET reason = replace(reason, '"code":"tolerance"', '"code":"too-many-failures"') WHERE reason IS NOT NULL;
