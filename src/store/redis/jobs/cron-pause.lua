-- Pauses a cron entry, or resumes it from now on.
--
-- KEYS  1 is the entry.
-- ARGV  are now (ms), 1 (paused) or 0.
-- Returns 1; 0 when there is no such entry.
-- include: arguments

local now, paused = number(), text()
expect('hash')
local stored = redis.call('HMGET', KEYS[1], 'tick', 'paused')
if not stored[1] then return 0 end
-- A server at its memory limit allows this script, because the first write is a removal.
redis.call('HDEL', KEYS[1], 'paused')
if paused == '1' then
  redis.call('HSET', KEYS[1], 'paused', '1')
elseif stored[2] == '1' then
  redis.call('HSET', KEYS[1], 'tick', string.format('%d', math.max(tonumber(stored[1]), now)))
end
return 1
