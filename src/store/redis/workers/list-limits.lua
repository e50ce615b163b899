-- Returns the state of limits, of those with used slots or waiting jobs.
--
-- KEYS  1 is leases, 2 is set-limits.
-- ARGV  are the beginnings of the keys of slots, of rates and of waiting jobs; the number of limits, and of each its name and its
--       numbers (rates.lua).
-- Returns of each limit its name, its numbers, those that were set or "", how many slots are used, how many jobs wait, and the microseconds until its rate
-- has room. Slots of owners without a lease do not count.
-- include: arguments slots rates

local slotsOf, rateOf, waitingOf = text(), text(), text()
expect('zset', 'hash')
local list, limits = {}, {}
for i = 1, number() do limits[i] = parseLimit(text(), text()) end
applySet(limits, KEYS[2])
for _, limit in ipairs(limits) do
  limit.rate = rateOf .. limit.name
  local slots, waiting = slotsOf .. limit.name, waitingOf .. limit.name
  local isSound = not (wrong(slots, 'zset') or wrong(limit.rate, 'string') or wrong(waiting, 'zset'))
  local used = isSound and redis.call('ZCARD', slots) - #orphanedSlots(slots, KEYS[1]) or 0
  local size = isSound and redis.call('ZCARD', waiting) or 0
  if used + size > 0 then
    list[#list + 1] = { limit.name, limit.spec, limit.set or '', used, size, math.ceil(timeUntilStart(limit)) }
  end
end
return list
