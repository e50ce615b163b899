-- Counts the ids of an ordered queue. A script and no transaction: a server without memory refuses each command of a transaction.
--
-- KEYS  1 is the morgue; then of each shard its due ids, its retries and its fetched ids.
-- Returns the number of dead ids; then of each shard the numbers of its waiting, failed and fetched ids, and when the first
-- waiting one is due or "".
-- include: arguments

refuse(wrong(KEYS[1], 'zset'))
local counts = { redis.call('ZCARD', KEYS[1]) }
for i = 2, #KEYS, 3 do
  local due, retries, fetched = KEYS[i], KEYS[i + 1], KEYS[i + 2]
  refuse(wrong(due, 'zset') or wrong(retries, 'zset') or wrong(fetched, 'hash'))
  local first = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2] or ''
  counts[#counts + 1] = { redis.call('ZCARD', due), redis.call('ZCARD', retries), redis.call('HLEN', fetched), first }
end
return counts
