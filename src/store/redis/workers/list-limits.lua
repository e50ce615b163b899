-- Lists the limits with used slots or waiting jobs.
--
-- KEYS  1 is limits.
-- ARGV  are the beginnings of the keys of slots, of rates and of waiting jobs.
-- Returns of each limit its name, its numbers (rates.lua), how many slots are used, how many jobs wait, and the microseconds until
-- its rate has room.
-- include: arguments slots rates

local slotsOf, rateOf, waitingOf = text(), text(), text()
expect('hash')
local limits, list = redis.call('HGETALL', KEYS[1]), {}
for i = 1, #limits, 2 do
  local limit = parseLimit(limits[i], limits[i + 1])
  limit.rate = rateOf .. limit.name
  local slots, waiting = slotsOf .. limit.name, waitingOf .. limit.name
  local isSound = not (wrong(slots, 'zset') or wrong(limit.rate, 'string') or wrong(waiting, 'zset'))
  local used, size = isSound and redis.call('ZCARD', slots) or 0, isSound and redis.call('ZCARD', waiting) or 0
  if used + size > 0 then list[#list + 1] = { limit.name, limit.spec, used, size, math.ceil(timeUntilStart(limit)) } end
end
return list
