-- Deletes an empty queue without members and without dead ids.
--
-- KEYS  as in ordered-open.lua.
-- ARGV  begin as there, with all shards.
-- Returns 1; 0 when the queue is not empty, or has members or dead ids.
-- include: arguments ordered-open ordered-opened

if redis.call('EXISTS', IDS, FLIGHTS, MORGUE) > 0 then return 0 end
local members = redis.call('SMEMBERS', MEMBERS)
for _, member in ipairs(members) do
  if holds(member) then return 0 end
end
for _, member in ipairs(members) do redis.call('DEL', NOTIFICATIONS .. member) end
for key in pairs(KINDS) do
  if key ~= LEASES then redis.call('DEL', key) end
end
for i = FIXED + 1, #KEYS do redis.call('DEL', KEYS[i]) end
return 1
