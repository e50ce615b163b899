-- Withdraws a cancellation.
--
-- KEYS  1 is the cancellations, 2 is the iteration of the job.
-- ARGV  are the job, and the version if only the request of one caller is withdrawn, else "".
-- Returns what it was: m (requested), d (dropped), b (dropped while it ran) or n (none).
-- include: arguments cancellations

expect('zset')
return withdrawCancellation(KEYS[1], KEYS[2], text(), '', number())
