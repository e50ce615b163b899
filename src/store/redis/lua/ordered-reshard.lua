-- Begins to change the number of shards. Gives 1; 0 when it is being changed to another number.
--
-- KEYS  see ordered-open.lua.
-- ARGV  as there; the new number.
-- include: arguments ordered-open ordered-bell

local refused = opened()
if refused then return refused end
local wanted = number()
if wanted == shards then return 1 end
if from then return 0 end
redis.call('HSET', QUEUE, 'from', shards, 'shards', wanted, 'cursor', '')
ringAll()
return 1
