-- Releases a shard, and returns the ids in flight under it to the queue.
--
-- KEYS  as in ordered-open.lua.
-- ARGV  begin as there, with all shards; then come shard, owner, token ("": any token, whether the lease holds or
--       not).
-- Returns 1; 0 when the shard has another owner.
-- include: arguments ordered-open ordered-notify ordered-state ordered-restore ordered-opened

local shard, owner, token = number(), text(), text()
if not DUE[shard] or redis.call('HGET', QUEUE, 'owner:' .. shard) ~= owner then return 0 end
if token ~= '' and not (holds(owner) and redis.call('HGET', QUEUE, 'token:' .. shard) == token) then return 0 end
refuse(wrongFlights(shard))
redis.call('HDEL', QUEUE, 'owner:' .. shard, 'died:' .. shard)
restore(shard)
notifyMembers()
return 1
