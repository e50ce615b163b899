-- Makes a task without rows, whose adder is open. Gives 1; 0 when the id is taken.
--
-- KEYS  1 header, 2 adding (task and adder → kind), 3 the queue's tasks (ledger.lua), 4 names of the queues that
--       have tasks.
-- ARGV  name of the queue, adder, id, createdAt, then fields and values of the header.
-- include: arguments

local header, adding, tasks = KEYS[1], KEYS[2], KEYS[3]
for i, kind in ipairs({ 'hash', 'hash', 'zset', 'set' }) do
  if wrong(KEYS[i], kind) then return redis.error_reply(unusable(KEYS[i])) end
end
local queue, adder, id, created = text(), text(), text(), text()
if redis.call('EXISTS', header) == 1 then return 0 end
redis.call('HSET', header, 'id', id, 'state', 'open', 'adder', adder, 'adders', 'a' .. adder, 'cursor:' .. adder, 0, 'run', 1,
  'created', created, 'watched', created, unpack(ARGV, cursor + 1))
redis.call('ZADD', tasks, created, id)
redis.call('SADD', KEYS[4], queue)
redis.call('HSET', adding, id .. ' ' .. adder, 'a')
return 1
