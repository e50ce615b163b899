-- Drops the header of a sealed task. Maintenance deletes the rest if this process dies.
--
-- KEYS  1 is the header of a sealed task, 2 is the tasks that move, 3 is the tasks of its queue (ledger.lua), 4 is the jobs of
--       the page that is held, 5 to 8 are the sets of its jobs; then come the tasks of each of its labels (sorted sets).
-- ARGV  are the id, transfer.
-- Returns 1; 0 when no task is sealed under this name, a page is held, or these sets have jobs.
-- include: arguments

expect('hash', 'hash', 'zset', 'list')
for i = 5, #KEYS do refuse(wrong(KEYS[i], 'zset')) end
if redis.call('EXISTS', unpack(KEYS, 4, 8)) > 0 then return 0 end
local id, sealed = text(), redis.call('HMGET', KEYS[1], 'transfer', 'cursor')
if sealed[1] ~= text() or sealed[2] then return 0 end
redis.call('ZADD', KEYS[3], -1, id)
redis.call('DEL', KEYS[1])
redis.call('HDEL', KEYS[2], id)
for i = 9, #KEYS do redis.call('ZREM', KEYS[i], id) end
return 1
