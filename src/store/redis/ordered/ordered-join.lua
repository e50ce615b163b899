-- Makes an owner with a lease a member of the queue, so that it may own shards.
--
-- KEYS  as in ordered-open.lua.
-- ARGV  begin as there; then comes the owner.
-- Returns 1; 0 when the owner has no lease.
-- include: arguments ordered-open ordered-notify ordered-opened

local owner = text()
if not holds(owner) then return 0 end
for _, member in ipairs(redis.call('SMEMBERS', MEMBERS)) do
  if not holds(member) then removeMember(member) end
end
removeNothing('SREM', MEMBERS)
redis.call('SADD', MEMBERS, owner)
notifyMembers()
return 1
