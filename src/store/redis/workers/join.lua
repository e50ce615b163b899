-- Registers an owner with its lease.
--
-- KEYS  1 is leases, 2 is the newest stamp, 3 is the owner, 4 is its machine.
-- ARGV  are the owner, seconds, host, names of its queues.
-- Returns 1; 0 when the name is known already, claimed or not.
-- include: arguments stamp

local owner, seconds, host = text(), text(), text()
expect('zset', 'string', 'hash', 'hash')
if redis.call('ZSCORE', KEYS[1], owner) then return 0 end
redis.call('DEL', KEYS[3])
redis.call('ZADD', KEYS[1], nextStamp(KEYS[2]), owner)
redis.call('HSET', KEYS[3], 'seconds', seconds, 'host', host)
for i = position + 1, #ARGV do redis.call('HSET', KEYS[3], 'q ' .. ARGV[i], '') end
if host ~= '' then redis.call('HSET', KEYS[4], owner, host) end
return 1
