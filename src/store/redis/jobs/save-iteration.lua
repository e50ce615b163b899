-- Keeps the progress of an iteration, unless a later execution has saved its own.
--
-- KEYS  1 is the iteration.
-- ARGV  are executions, cursor, runtime.
-- Returns 1; 0 when a later execution has saved.
-- include: arguments iteration

local key = KEYS[1]
refuse(wrong(key, 'hash'))
return saveIteration(key, number(), text(), text()) and 1 or 0
