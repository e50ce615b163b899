-- Claims a lease for good.
--
-- KEYS  1 is leases, 2 is the owner, 3 is its machine.
-- ARGV  are the owner; the end that its lease must still have, 0 (the owner must have no lease) or "" (it is known to
--       be dead); the names of its queues, if its hash has none.
-- Returns 1; 0 when the lease has another end, was claimed before, or is unknown and no queue is named.
-- include: arguments

local owner, expected = text(), number()
expect('zset', 'hash', 'hash')
local stamp = tonumber(redis.call('ZSCORE', KEYS[1], owner) or nil)
if stamp and stamp < 0 then return 0 end
if not stamp and position == #ARGV then return 0 end
if expected and stamp and stamp + tonumber(redis.call('HGET', KEYS[2], 'seconds') or 0) * 1000 ~= expected then return 0 end
redis.call('HDEL', KEYS[3], owner)
redis.call('ZADD', KEYS[1], string.format('%d', -clock()), owner)
if not stamp then
  for i = position + 1, #ARGV do redis.call('HSET', KEYS[2], 'q ' .. ARGV[i], '') end
end
return 1
