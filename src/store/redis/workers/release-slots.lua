-- Releases slots. If their call had no answer, it is voided: it takes nothing when it runs later.
--
-- KEYS  1 is leases, 2 is the owner, 3 is limits, 4 is limit-checks; then the slots of each limit.
-- ARGV  are the channel for due jobs, the owner, the number of the call to void (0: none), the number of limits, and their
--       names; the number of attempts, and their tickets.
-- Returns 1.
-- include: arguments slots

local channel, owner, call = text(), text(), number()
expect('zset', 'hash', 'hash', 'zset')
local names, mustCheck = {}, false
for i = 1, number() do
  names[i] = text()
  refuse(wrong(KEYS[4 + i], 'zset'))
end
local stamp = tonumber(redis.call('ZSCORE', KEYS[1], owner) or nil)
-- Without a lease the call takes nothing, and the slots do not count.
if not stamp or stamp < 0 then return 1 end
removeNothing('ZREM', KEYS[4])
if call > tonumber(redis.call('HGET', KEYS[2], 'voided') or 0) then redis.call('HSET', KEYS[2], 'voided', call) end
for _ = 1, number() do
  local holder = owner .. ' ' .. text()
  for i, name in ipairs(names) do
    mustCheck = releaseSlot(KEYS[3], KEYS[4], KEYS[4 + i], name, holder) or mustCheck
  end
end
if mustCheck then redis.pcall('PUBLISH', channel, '') end
return 1
