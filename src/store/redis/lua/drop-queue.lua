-- Drops the name of a queue without tasks, and its count of rows held back. Gives 1; 0 when it has a task.
--
-- KEYS  1 names of the queues that have tasks, 2 the queue's tasks by time, 3 producers, 4 rows held back.
-- ARGV  name of the queue.
-- include: arguments

for i, kind in ipairs({ 'set', 'zset', 'hash', 'string' }) do
  if wrong(KEYS[i], kind) then return redis.error_reply(unusable(KEYS[i])) end
end
if redis.call('EXISTS', KEYS[2], KEYS[3]) > 0 or (tonumber(redis.call('GET', KEYS[4]) or 0) or 1) ~= 0 then return 0 end
redis.call('DEL', KEYS[4])
redis.call('SREM', KEYS[1], text())
return 1
