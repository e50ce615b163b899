-- Sets the end of a lease in all of its queues, also when it was past. Gives 0 when it was claimed in one, or is unknown.
--
-- KEYS  leases of the owner's queues.
-- ARGV  owner, seconds.
-- include: arguments clock

local owner, seconds = text(), number()
for _, key in ipairs(KEYS) do
  if wrong(key, 'zset') then return redis.error_reply(unusable(key)) end
  local ends = redis.call('ZSCORE', key, owner)
  if not ends or tonumber(ends) < 0 then return 0 end
end
redis.call('ZREM', KEYS[1], '')
local ends = string.format('%d', clock() + math.floor(seconds * 1000))
for _, key in ipairs(KEYS) do redis.call('ZADD', key, 'XX', ends, owner) end
return 1
