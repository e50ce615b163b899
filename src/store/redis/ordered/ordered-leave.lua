-- Removes a member that owns no shard.
--
-- KEYS  as in ordered-open.lua.
-- ARGV  begin as there, with all shards; then comes the owner.
-- Returns 1; 0 when it owns a shard.
-- include: arguments ordered-open ordered-notify ordered-opened

local owner = text()
for shard in pairs(DUE) do
  if redis.call('HGET', QUEUE, 'owner:' .. shard) == owner then return 0 end
end
removeMember(owner)
notifyMembers()
return 1
