-- Renews a lease, even after its end.
--
-- KEYS  1 is leases, 2 is the newest stamp, 3 is the owner.
-- ARGV  are the owner, seconds.
-- Returns 1; 0 when the lease was claimed or is unknown.
-- include: arguments stamp

local owner, seconds = text(), text()
expect('zset', 'string', 'hash')
if tonumber(redis.call('ZSCORE', KEYS[1], owner) or -1) < 0 then return 0 end
removeNothing('ZREM', KEYS[1])
redis.call('ZADD', KEYS[1], 'XX', nextStamp(KEYS[2]), owner)
redis.call('HSET', KEYS[3], 'seconds', seconds)
return 1
