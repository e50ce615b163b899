-- Strikes an owner off that owns no shard (any more). Gives 1; 0: it owns one.
--
-- KEYS  see ordered-open.lua.
-- ARGV  as there, all shards; owner.
-- include: arguments ordered-open ordered-bell

local refused = opened()
if refused then return refused end
local owner = text()
for shard in pairs(DUE) do
  if redis.call('HGET', QUEUE, 'owner:' .. shard) == owner then return 0 end
end
strike(owner)
ringAll()
return 1
