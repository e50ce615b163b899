-- Deletes batches that are kept no longer.
--
-- KEYS  1 is the set of all batches, 2 is that of ended ones.
-- ARGV  are now (ms), most batches, the time of the caller's machine (ms).
-- Returns how many it deleted.
-- include: arguments

expect('zset', 'zset')
local now, most = number(), number()
-- The clock of the server counts: one that is ahead would delete what others keep.
now = now - math.max(number() - clock(), 0)
local bids = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', string.format('%d', now), 'LIMIT', 0, most)
for _, bid in ipairs(bids) do
  -- The set hk:batches has the batches hk:batch:BID.
  local key = string.sub(KEYS[1], 1, -3) .. ':' .. bid
  redis.call('UNLINK', key, key .. ':members', key .. ':notes')
  redis.call('ZREM', KEYS[1], bid)
  redis.call('ZREM', KEYS[2], bid)
end
return #bids
