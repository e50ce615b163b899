-- Pauses an entry, or lets it go on: from now, when it was paused. Gives 0 when there is no such entry.
--
-- KEYS  1 the entry.
-- ARGV  now (ms), 1 (paused) or 0.
-- include: arguments

local now, paused = number(), text()
if wrong(KEYS[1], 'hash') then return redis.error_reply(unusable(KEYS[1])) end
local stands = redis.call('HMGET', KEYS[1], 'tick', 'paused')
if not stands[1] then return 0 end
-- At its memory limit the server refuses a script whose first write may grow: this one removes.
redis.call('HDEL', KEYS[1], 'paused')
if paused == '1' then
  redis.call('HSET', KEYS[1], 'paused', '1')
elseif stands[2] == '1' then
  redis.call('HSET', KEYS[1], 'tick', string.format('%d', math.max(tonumber(stands[1]), now)))
end
return 1
