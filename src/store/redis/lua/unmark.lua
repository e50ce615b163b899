-- Takes a mark back. Gives what it was: m(arked), d(ropped) or n(one).
--
-- KEYS  1 marks of cancelled jobs, 2 the job's iteration state.
-- ARGV  job.
-- include: arguments clock marks

if wrong(KEYS[1], 'zset') then return redis.error_reply(unusable(KEYS[1])) end
return unmark(KEYS[1], KEYS[2], text(), false)
