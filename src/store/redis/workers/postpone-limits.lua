-- Postpones the next check of limits that jobs wait for.
--
-- KEYS  1 is limit-checks.
-- ARGV  are microseconds from now, and the limits.
-- include: arguments

local micros = number()
expect('zset')
removeNothing('ZREM', KEYS[1])
local time = redis.call('TIME')
local at = string.format('%.0f', tonumber(time[1]) * 1e6 + tonumber(time[2]) + micros)
for i = position + 1, #ARGV do redis.call('ZADD', KEYS[1], 'XX', at, ARGV[i]) end
