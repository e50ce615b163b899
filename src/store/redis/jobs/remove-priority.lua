-- Removes the name of a queue's priority that has no jobs. The next push adds it again.
--
-- KEYS  1 is queues, 2 is the list of the priority.
-- ARGV  is the name.
-- include: arguments

expect('set', 'list')
if redis.call('EXISTS', KEYS[2]) == 0 then redis.call('SREM', KEYS[1], text()) end
return 1
