-- Removes a queue without tasks from the names of the queues that have tasks, and its backlog count.
--
-- KEYS  1 is the names of the queues that have tasks, 2 is the queue's tasks by time, 3 is its producers, 4 is its
--       backlog count, 5 is the tasks that move.
-- ARGV  is the name of the queue.
-- Returns 1; 0 when the queue has a task, a producer or a backlog. Also returns 0 while any task moves, because a sealed task, which
-- is none of these, may come back.
-- include: arguments

expect('set', 'zset', 'hash', 'string', 'hash')
if redis.call('EXISTS', KEYS[2], KEYS[3], KEYS[5]) > 0 or (tonumber(redis.call('GET', KEYS[4]) or 0) or 1) ~= 0 then return 0 end
redis.call('DEL', KEYS[4])
redis.call('SREM', KEYS[1], text())
return 1
