-- Creates a task without rows and with one open producer.
--
-- KEYS  1 is the header, 2 is the producers (task and producer → kind), 3 is the queue's tasks (ledger.lua), 4 is the
--       names of the queues that have tasks.
-- ARGV  are the name of the queue, producer, id, createdAt, then fields and values of the header.
-- Returns 1; 0 when the id is taken.
-- include: arguments

local header, producers, tasks = KEYS[1], KEYS[2], KEYS[3]
expect('hash', 'hash', 'zset', 'set')
local queue, producer, id, created = text(), text(), text(), text()
if redis.call('EXISTS', header) == 1 then return 0 end
redis.call('HSET', header, 'id', id, 'state', 'open', 'producer', producer, 'producers', 'a' .. producer, 'cursor:' .. producer, 0, 'run', 1,
  'createdAt', created, 'score', created, unpack(ARGV, position + 1))
redis.call('ZADD', tasks, created, id)
redis.call('SADD', KEYS[4], queue)
redis.call('HSET', producers, id .. ' ' .. producer, 'a')
return 1
