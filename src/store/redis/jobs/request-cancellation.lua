-- Cancels jobs, for us and for Sidekiq's iterable jobs.
--
-- KEYS  1 is the cancellations, 2 is their newest version; then comes the iteration of each job.
-- ARGV  are ms for which a cancellation is kept, ms for which a dropped one is kept, most cancellations, seconds for which
--       an iteration is kept, ms after which brief requests end or "", the jobs.
-- Returns the version of each cancellation.
-- include: arguments cancel

local cancelled, newest = KEYS[1], KEYS[2]
expect('zset', 'string')
for i = 3, #KEYS do refuse(wrong(KEYS[i], 'hash')) end
-- The clock of the server counts: a caller's clock that is ahead would expire all cancellations.
local now = clock()
local function whole(n) return string.format('%d', n) end

-- A server at its memory limit allows this script, because the first writes are removals.
redis.call('ZREMRANGEBYSCORE', cancelled, 1, whole(now - number()))
redis.call('ZREMRANGEBYSCORE', cancelled, whole(number() - now), -1)
local excess = redis.call('ZCARD', cancelled) + #KEYS - 3 - number()
if excess >= 0 then redis.call('ZREMRANGEBYRANK', cancelled, 0, excess) end

local keptSeconds, briefMs, versions = number(), number(), {}
for i = 3, #KEYS do
  table.insert(versions, cancel(cancelled, newest, KEYS[i], text(), keptSeconds, briefMs))
end
return versions
