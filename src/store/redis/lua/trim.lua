-- Removes the lowest entries of a set that are too many or too old, in one step, so that it counts what others remove
-- meanwhile.
--
-- KEYS  1 the set.
-- ARGV  most entries that stay, lowest score that stays, most entries to remove.
-- Gives how many were removed.
-- include: arguments

if wrong(KEYS[1], 'zset') then return redis.error_reply(unusable(KEYS[1])) end
local most, since, limit = number(), text(), number()
local excess = redis.call('ZCARD', KEYS[1]) - most
local removed = math.min(math.max(excess, redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. since)), limit)
if removed <= 0 then return 0 end
return redis.call('ZREMRANGEBYRANK', KEYS[1], 0, removed - 1)
