-- Lists the limits with used slots or waiting jobs.
--
-- KEYS  1 is limits.
-- ARGV  are the beginnings of the keys of slots, of rates and of waiting jobs.
-- Returns of each limit its name, its numbers (rates.lua), how many slots are used, and how many jobs wait.
-- include: arguments

local slotsOf, waitingOf = ARGV[1], ARGV[3]
expect('hash')
local limits, list = redis.call('HGETALL', KEYS[1]), {}
for i = 1, #limits, 2 do
  local slots, waiting = slotsOf .. limits[i], waitingOf .. limits[i]
  local isSound = not (wrong(slots, 'zset') or wrong(waiting, 'zset'))
  local used, size = isSound and redis.call('ZCARD', slots) or 0, isSound and redis.call('ZCARD', waiting) or 0
  if used + size > 0 then list[#list + 1] = { limits[i], limits[i + 1], used, size } end
end
return list
