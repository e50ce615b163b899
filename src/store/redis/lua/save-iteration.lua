-- Keeps how far an iteration has come, unless a later execution has begun to.
--
-- KEYS  1 the iteration.
-- ARGV  executions, cursor, runtime.
-- Gives "overtaken", or when it was cancelled (seconds), or "".
-- include: arguments iteration

local key = KEYS[1]
if wrong(key, 'hash') then return redis.error_reply(unusable(key)) end
local executions, place, runtime = number(), text(), text()
if (tonumber(redis.call('HGET', key, 'ex') or 0) or 0) > executions then return 'overtaken' end
saveIteration(key, executions, place, runtime)
return redis.call('HGET', key, 'cancelled') or ''
