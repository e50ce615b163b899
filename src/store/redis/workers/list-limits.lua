-- Returns the state of limits, of those with used slots or waiting jobs.
--
-- KEYS  1 is leases.
-- ARGV  are the beginnings of the keys of slots, of rates and of waiting jobs; the number of limits, and of each its name and its
--       numbers (rates.lua).
-- Returns of each limit its name, its numbers, how many slots are used, how many jobs wait, and the microseconds until its rate
-- has room. Slots of owners without a lease do not count.
-- include: arguments slots rates

local slotsOf, rateOf, waitingOf = text(), text(), text()
expect('zset')
local list = {}
for _ = 1, number() do
  local limit = parseLimit(text(), text())
  limit.rate = rateOf .. limit.name
  local slots, waiting = slotsOf .. limit.name, waitingOf .. limit.name
  local isSound = not (wrong(slots, 'zset') or wrong(limit.rate, 'string') or wrong(waiting, 'zset'))
  local used = isSound and redis.call('ZCARD', slots) - #orphanedSlots(slots, KEYS[1]) or 0
  local size = isSound and redis.call('ZCARD', waiting) or 0
  if used + size > 0 then list[#list + 1] = { limit.name, limit.spec, used, size, math.ceil(timeUntilStart(limit)) } end
end
return list
