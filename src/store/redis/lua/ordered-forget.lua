-- Forgets a queue in which nothing is, nobody works, and nothing is dead. Gives 0 when it is not so.
--
-- KEYS  see ordered-open.lua.
-- ARGV  as there, all shards.
-- include: arguments ordered-open

local refused = opened()
if refused then return refused end
if redis.call('EXISTS', IDS, FLIGHTS, MORGUE) > 0 then return 0 end
local members = redis.call('SMEMBERS', MEMBERS)
for _, member in ipairs(members) do
  if holds(member) then return 0 end
end
for _, member in ipairs(members) do redis.call('DEL', BELL .. member) end
for key in pairs(KINDS) do
  if key ~= LEASES then redis.call('DEL', key) end
end
for i = FIXED + 1, #KEYS do redis.call('DEL', KEYS[i]) end
return 1
