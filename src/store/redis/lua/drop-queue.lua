-- Drops the name of a queue without tasks and without leases of version 0.1, and its count of rows held back. Gives 1; 0
-- when it has any.
--
-- KEYS  1 names of our queues, 2 the queue's tasks by time, 3 producers, 4 rows held back, 5 leases of version 0.1.
-- ARGV  name of the queue.
-- include: arguments

for i, kind in ipairs({ 'set', 'zset', 'hash', 'string', 'zset' }) do
  if wrong(KEYS[i], kind) then return redis.error_reply(unusable(KEYS[i])) end
end
if redis.call('EXISTS', KEYS[2], KEYS[3], KEYS[5]) > 0 or (tonumber(redis.call('GET', KEYS[4]) or 0) or 1) ~= 0 then return 0 end
redis.call('DEL', KEYS[4])
redis.call('SREM', KEYS[1], text())
return 1
