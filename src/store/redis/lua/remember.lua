-- Keeps a value for a while if there is none; gives the one that is there.
--
-- KEYS  1 the key.
-- ARGV  value, milliseconds.
-- include: arguments

if wrong(KEYS[1], 'string') then return redis.error_reply(unusable(KEYS[1])) end
local known = redis.call('GET', KEYS[1])
if known then return known end
redis.call('SET', KEYS[1], text(), 'PX', text())
return false
