-- Enters an owner into one more queue, until the end of the lease that it has. Gives 0 when it has none (any more).
--
-- KEYS  1 names of our queues, 2 leases and 3 hosts of a queue that it is in, 4 and 5 the same of the new one.
-- ARGV  owner, name of the new queue.
-- include: arguments

local owner, queue = text(), text()
for i, kind in ipairs({ 'set', 'zset', 'hash', 'zset', 'hash' }) do
  if wrong(KEYS[i], kind) then return redis.error_reply(unusable(KEYS[i])) end
end
local ends = redis.call('ZSCORE', KEYS[2], owner)
if not ends or tonumber(ends) < 0 then return 0 end
redis.call('ZREM', KEYS[4], '')
redis.call('SADD', KEYS[1], queue)
redis.call('ZADD', KEYS[4], 'NX', ends, owner)
redis.call('HSET', KEYS[5], owner, redis.call('HGET', KEYS[3], owner) or '')
return 1
