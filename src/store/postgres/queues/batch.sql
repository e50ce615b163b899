-- load: returns batches and those around them, each with the ids and states of some open members: those that $2 (their
-- batches) and $3 name, and nested batches that are returned, too.
WITH RECURSIVE up(bid, parent) AS (
  SELECT bid, parent FROM hk.batch WHERE bid = ANY($1::text[])
  UNION
  SELECT b.bid, b.parent FROM up JOIN hk.batch AS b ON b.bid = up.parent
), wanted AS (
  SELECT w.bid, w.id FROM unnest($2::text[], $3::text[]) AS w(bid, id)
  UNION
  SELECT parent, bid FROM up WHERE parent IS NOT NULL
), found AS (
  SELECT m.bid, array_agg(m.id) AS ids, array_agg(m.state::integer) AS states
  FROM wanted JOIN hk.batch_member AS m ON m.bid = wanted.bid AND m.id = wanted.id GROUP BY m.bid
)
SELECT b.*, found.ids, found.states FROM up JOIN hk.batch AS b ON b.bid = up.bid LEFT JOIN found ON found.bid = up.bid;

-- open: returns those of the named members that are open.
SELECT m.bid, m.id, m.state FROM unnest($1::text[], $2::text[]) AS w(bid, id)
JOIN hk.batch_member AS m ON m.bid = w.bid AND m.id = w.id;

-- create: creates batches.
INSERT INTO hk.batch (bid, parent, depth, meta, on_complete, on_success, on_death, job, keep, created_at, progress_at)
SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
  $9::bigint[], $10::bigint[], $11::bigint[]);

-- save: writes what changed in batches, deletes members that have ended ($18, $19), and stores the states of others.
WITH saved AS (
  UPDATE hk.batch AS b SET on_complete = n.on_complete, on_success = n.on_success, on_death = n.on_death, job = n.job,
    total = n.total, pending = n.pending, retrying = n.retrying, dead = n.dead, failed = n.failed, succeeded = n.succeeded,
    progress_at = n.progress_at, completed_at = n.completed_at, succeeded_at = n.succeeded_at, died_at = n.died_at,
    expires_at = n.expires_at, cancelling = n.cancelling
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[],
    $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[], $17::bigint[])
  AS n(bid, on_complete, on_success, on_death, job, total, pending, retrying, dead, failed, succeeded,
    progress_at, completed_at, succeeded_at, died_at, expires_at, cancelling)
  WHERE b.bid = n.bid
), ended AS (
  DELETE FROM hk.batch_member AS m USING unnest($18::text[], $19::text[]) AS n(bid, id) WHERE m.bid = n.bid AND m.id = n.id
)
INSERT INTO hk.batch_member (bid, id, state) SELECT * FROM unnest($20::text[], $21::text[], $22::bigint[])
ON CONFLICT (bid, id) DO UPDATE SET state = excluded.state;

-- note: keeps notes in place of earlier ones.
INSERT INTO hk.batch_note (bid, key, text) SELECT * FROM unnest($1::text[], $2::text[], $3::text[])
ON CONFLICT (bid, key) DO UPDATE SET text = excluded.text;

-- find: returns a batch.
SELECT * FROM hk.batch WHERE bid = $1;

-- newest: returns the newest batches.
SELECT * FROM hk.batch ORDER BY created_at DESC, bid DESC LIMIT $1;

-- older: returns the newest batches before one.
SELECT * FROM hk.batch WHERE (created_at, bid) < ($1, $2) ORDER BY created_at DESC, bid DESC LIMIT $3;

-- members: returns open members.
SELECT id, state FROM hk.batch_member WHERE bid = $1 AND id > $2 ORDER BY id LIMIT $3;

-- notes: returns the notes of a batch.
SELECT key, text FROM hk.batch_note WHERE bid = $1;

-- idle: returns batches with open members that had no progress since a time, behind one.
SELECT * FROM hk.batch WHERE pending + dead > 0 AND progress_at < $1 AND (progress_at, bid) > ($2, $3)
ORDER BY progress_at, bid LIMIT $4;

-- cancelling: returns batches that are being cancelled.
SELECT bid FROM hk.batch WHERE cancelling = 1 AND bid > $1 ORDER BY bid LIMIT $2;

-- someExpired: returns a row if any batch is kept no longer.
SELECT 1 FROM hk.batch WHERE expires_at <= $1 LIMIT 1;

-- prune: deletes batches that are kept no longer, with their notes.
WITH pruned AS (
  DELETE FROM hk.batch WHERE bid IN (SELECT bid FROM hk.batch WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2) RETURNING bid
), notes AS (
  DELETE FROM hk.batch_note WHERE bid IN (SELECT bid FROM pruned)
)
SELECT bid FROM pruned;
