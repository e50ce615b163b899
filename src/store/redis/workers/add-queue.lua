-- Lets an owner hold jobs of one more queue.
--
-- KEYS  1 is leases, 2 is the owner.
-- ARGV  are the owner, name of the queue.
-- Returns 1; 0 when the owner has no lease.
-- include: arguments

local owner, queue = text(), text()
expect('zset', 'hash')
if tonumber(redis.call('ZSCORE', KEYS[1], owner) or -1) < 0 then return 0 end
removeNothing('HDEL', KEYS[2])
redis.call('HSET', KEYS[2], 'q ' .. queue, '')
return 1
