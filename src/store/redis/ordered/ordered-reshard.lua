-- Begins to change the number of shards.
--
-- KEYS  as in ordered-open.lua.
-- ARGV  begin as there; then comes the new number.
-- Returns 1; 0 when the queue is being resharded to another number.
-- include: arguments ordered-open ordered-notify ordered-opened

local wanted = number()
if wanted == shards then return 1 end
if from then return 0 end
redis.call('HSET', QUEUE, 'from', shards, 'shards', wanted, 'cursor', '')
notifyMembers()
return 1
