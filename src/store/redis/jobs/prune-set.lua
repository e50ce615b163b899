-- Removes the lowest entries of a set that are too many or too old. One step, because others remove entries as well.
--
-- KEYS  1 is the set.
-- ARGV  are the most entries that stay, the lowest score that stays, the most entries to remove.
-- Returns the number of removed entries.
-- include: arguments

expect('zset')
local most, since, limit = number(), text(), number()
local excess = redis.call('ZCARD', KEYS[1]) - most
local removed = math.min(math.max(excess, redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. since)), limit)
if removed <= 0 then return 0 end
return redis.call('ZREMRANGEBYRANK', KEYS[1], 0, removed - 1)
