-- Enters an owner with its lease into queues. Gives 1; 0 when it is known in one of them (claimed or not).
--
-- KEYS  1 names of our queues; then leases and hosts of each queue.
-- ARGV  owner, seconds, host, names of the queues.
-- include: arguments clock

local owner, seconds, host = text(), number(), text()
local ends = clock() + math.floor(seconds * 1000)
if wrong(KEYS[1], 'set') then return redis.error_reply(unusable(KEYS[1])) end
for i = 2, #KEYS, 2 do
  if wrong(KEYS[i], 'zset') then return redis.error_reply(unusable(KEYS[i])) end
  if wrong(KEYS[i + 1], 'hash') then return redis.error_reply(unusable(KEYS[i + 1])) end
  if redis.call('ZSCORE', KEYS[i], owner) then return 0 end
end
redis.call('ZREM', KEYS[2], owner)
redis.call('SADD', KEYS[1], unpack(ARGV, 4))
for i = 2, #KEYS, 2 do
  redis.call('ZADD', KEYS[i], string.format('%d', ends), owner)
  redis.call('HSET', KEYS[i + 1], owner, host)
end
return 1
