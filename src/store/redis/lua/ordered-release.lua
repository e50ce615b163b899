-- Frees a shard; what is in flight under it goes back as it was taken. Gives 0 when it is not this owner's any more.
--
-- KEYS  see ordered-open.lua.
-- ARGV  as there, all shards; shard, owner, token ("": whatever it is, and whether its lease holds or not).
-- include: arguments ordered-open ordered-bell ordered-book ordered-restore

local refused = opened()
if refused then return refused end
local shard, owner, token = number(), text(), text()
if not DUE[shard] or redis.call('HGET', QUEUE, 'owner:' .. shard) ~= owner then return 0 end
if token ~= '' and not (holds(owner) and redis.call('HGET', QUEUE, 'token:' .. shard) == token) then return 0 end
local key = wrongFlights(shard)
if key then return redis.error_reply(unusable(key)) end
redis.call('HDEL', QUEUE, 'owner:' .. shard, 'died:' .. shard)
restore(shard)
ringAll()
return 1
