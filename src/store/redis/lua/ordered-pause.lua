-- Pauses an ordered queue, or lets it go on.
--
-- KEYS  see ordered-open.lua.
-- ARGV  as there; "1" or "".
-- include: arguments ordered-open ordered-bell

local refused = opened()
if refused then return refused end
if text() == '' then redis.call('HDEL', QUEUE, 'paused') else redis.call('HSET', QUEUE, 'paused', '1') end
ringAll()
return 1
