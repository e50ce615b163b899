-- Renews a lease, even after its end. Gives 0 when the lease was claimed, or is unknown.
--
-- KEYS  1 leases, 2 the newest stamp, 3 the owner.
-- ARGV  owner, seconds.
-- include: arguments clock stamp

local owner, seconds = text(), text()
for i, kind in ipairs({ 'zset', 'string', 'hash' }) do
  if wrong(KEYS[i], kind) then return redis.error_reply(unusable(KEYS[i])) end
end
if tonumber(redis.call('ZSCORE', KEYS[1], owner) or -1) < 0 then return 0 end
-- At its memory limit the server refuses a script whose first write may grow: this one removes.
redis.call('ZREM', KEYS[1], '')
redis.call('ZADD', KEYS[1], 'XX', nextStamp(KEYS[2]), owner)
redis.call('HSET', KEYS[3], 'seconds', seconds)
return 1
