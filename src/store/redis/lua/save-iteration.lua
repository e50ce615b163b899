-- Keeps how far an iteration has come, unless a later execution has begun to.
--
-- KEYS  1 the iteration.
-- ARGV  executions, cursor, runtime.
-- Gives 1, or 0 when it was overtaken.
-- include: arguments iteration

local key = KEYS[1]
if wrong(key, 'hash') then return redis.error_reply(unusable(key)) end
return saveIteration(key, number(), text(), text()) and 1 or 0
