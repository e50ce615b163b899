-- Asks an iteration to end; the first time stays.
--
-- KEYS  1 the iteration.
-- ARGV  now (s).
-- Gives 1, or 0 when it was asked before.
-- include: arguments iteration

if wrong(KEYS[1], 'hash') then return redis.error_reply(unusable(KEYS[1])) end
local first = redis.call('HSETNX', KEYS[1], 'cancelled', text())
keepIteration(KEYS[1])
return first
