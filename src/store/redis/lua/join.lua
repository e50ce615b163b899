-- Enters an owner with its lease. Gives 1; 0 when its name is known (claimed or not).
--
-- KEYS  1 leases, 2 the newest stamp, 3 the owner, 4 its machine.
-- ARGV  owner, seconds, host, names of its queues.
-- include: arguments clock stamp

local owner, seconds, host = text(), text(), text()
for i, kind in ipairs({ 'zset', 'string', 'hash', 'hash' }) do
  if wrong(KEYS[i], kind) then return redis.error_reply(unusable(KEYS[i])) end
end
if redis.call('ZSCORE', KEYS[1], owner) then return 0 end
redis.call('DEL', KEYS[3])
redis.call('ZADD', KEYS[1], nextStamp(KEYS[2]), owner)
redis.call('HSET', KEYS[3], 'seconds', seconds, 'host', host)
for i = cursor + 1, #ARGV do redis.call('HSET', KEYS[3], 'q ' .. ARGV[i], '') end
if host ~= '' then redis.call('HSET', KEYS[4], owner, host) end
return 1
