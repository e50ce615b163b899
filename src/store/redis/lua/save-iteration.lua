-- Keeps how far an iteration has come, unless a later execution has begun to.
--
-- KEYS  1 the iteration.
-- ARGV  executions, cursor, runtime.
-- Gives "overtaken", or when it was cancelled (seconds), or "".
-- include: arguments iteration

local key = KEYS[1]
if wrong(key, 'hash') then return redis.error_reply(unusable(key)) end
if not saveIteration(key, number(), text(), text()) then return 'overtaken' end
return redis.call('HGET', key, 'cancelled') or ''
