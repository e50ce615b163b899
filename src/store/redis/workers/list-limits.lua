-- Lists the limits with used slots or waiting jobs, and removes others. The slots of owners without a lease do not count.
--
-- KEYS  1 is leases, 2 is limits, 3 is limit-checks.
-- ARGV  are the beginnings of the keys of slots, of rates and of waiting jobs.
-- Returns of each limit its name, its numbers (rates.lua), how many slots are used, and how many jobs wait.
-- include: arguments

local slotsOf, waitingOf = ARGV[1], ARGV[3]
expect('zset', 'hash', 'zset')
local limits, list = redis.call('HGETALL', KEYS[2]), {}
for i = 1, #limits, 2 do
  local limit, slots, waiting = limits[i], slotsOf .. limits[i], waitingOf .. limits[i]
  local used, size = 0, 0
  if not (wrong(slots, 'zset') or wrong(waiting, 'zset')) then
    for _, holder in ipairs(redis.call('ZRANGE', slots, 0, -1)) do
      local stamp = tonumber(redis.call('ZSCORE', KEYS[1], string.match(holder, '^(.*) ') or '') or nil)
      if stamp and stamp >= 0 then used = used + 1 else redis.call('ZREM', slots, holder) end
    end
    size = redis.call('ZCARD', waiting)
  end
  if used + size > 0 then
    list[#list + 1] = { limit, limits[i + 1], used, size }
  elseif not redis.call('ZSCORE', KEYS[3], limit) then
    redis.call('HDEL', KEYS[2], limit)
  end
end
return list
