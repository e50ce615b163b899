-- Enters an owner whose lease holds among those that may own shards. Gives 1; 0 when it has no lease.
--
-- KEYS  see ordered-open.lua.
-- ARGV  as there; owner.
-- include: arguments ordered-open ordered-bell

local refused = opened()
if refused then return refused end
local owner = text()
if not holds(owner) then return 0 end
for _, member in ipairs(redis.call('SMEMBERS', MEMBERS)) do
  if not holds(member) then strike(member) end
end
redis.call('SREM', MEMBERS, '')
redis.call('SADD', MEMBERS, owner)
ringAll()
return 1
