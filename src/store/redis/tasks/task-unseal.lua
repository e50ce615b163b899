-- Makes a sealed task a frozen one again.
--
-- KEYS  1 to 11 are the keys of the task (ledger.lua), 12 is the tasks that move, 13 is the header of a sealed task.
-- ARGV  are the id, transfer.
-- Returns 1; 0 when no task is sealed under this name.
-- include: arguments ledger

refuse(wrongTask(1) or wrong(KEYS[12], 'hash') or wrong(KEYS[13], 'hash'))
local id, sealed = text(), redis.call('HMGET', KEYS[13], 'transfer', 'cursor', 'score', 'backlog')
if sealed[1] ~= text() or sealed[2] then return 0 end
redis.call('HSET', KEYS[12], id, '')
redis.call('RENAME', KEYS[13], KEYS[1])
redis.call('HDEL', KEYS[1], 'transfer')
redis.call('ZADD', KEYS[9], sealed[3], id)
redis.call('INCRBY', KEYS[8], sealed[4] or 0)
return 1
