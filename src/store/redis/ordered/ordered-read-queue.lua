-- Reads all fields of a queue's hash, and its members whose lease holds, in order.
--
-- KEYS  1 is the queue, 2 is its members, 3 is leases.
-- include: arguments

local members = {}
expect('hash', 'set', 'zset')
for _, member in ipairs(redis.call('SMEMBERS', KEYS[2])) do
  if tonumber(redis.call('ZSCORE', KEYS[3], member) or -1) >= 0 then members[#members + 1] = member end
end
return { redis.call('HGETALL', KEYS[1]), members }
