-- Keeps the progress of an iteration, unless a later execution has saved its own.
--
-- KEYS  1 is the iteration.
-- ARGV  are executions, cursor, runtime.
-- Returns 1; 0 when a later execution has saved.
-- include: arguments iteration

local key = KEYS[1]
if wrong(key, 'hash') then return redis.error_reply(unusable(key)) end
return saveIteration(key, number(), text(), text()) and 1 or 0
