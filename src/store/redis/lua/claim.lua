-- Takes a lease away for good. Gives 1; 0 when it is not as it should be, or was claimed before.
--
-- KEYS  leases of the owner's queues.
-- ARGV  owner, the end (of several the last one) that it must still have and that must be past, or "" (it is known to be dead), "enter" to claim
--       one that is listed nowhere.
-- include: arguments clock

local owner, expected, unlisted = text(), number(), text() == 'enter'
local time = clock()
local open, last = {}, -1
for _, key in ipairs(KEYS) do
  if wrong(key, 'zset') then return redis.error_reply(unusable(key)) end
  local ends = tonumber(redis.call('ZSCORE', key, owner) or (unlisted and '0'))
  if ends and ends >= 0 then
    open[#open + 1] = key
    last = math.max(last, ends)
  end
end
if expected and (last ~= expected or last > time) then return 0 end
if #open == 0 then return 0 end
redis.call('ZREM', open[1], '')
for _, key in ipairs(open) do redis.call('ZADD', key, string.format('%d', -time), owner) end
return 1
