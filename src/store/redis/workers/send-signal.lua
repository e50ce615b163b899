-- Sends a signal to a process.
--
-- KEYS  1 is the process, 2 is its signals.
-- ARGV  are the signal, and seconds after which it is dropped.
-- Returns 1; 0 when there is no such process.
-- include: arguments

local signal, seconds = text(), text()
refuse(wrong(KEYS[2], 'list'))
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
-- A server at its memory limit allows this script, because the first write is a removal (of nothing).
redis.call('LREM', KEYS[2], 1, '')
redis.call('LPUSH', KEYS[2], signal)
redis.call('EXPIRE', KEYS[2], seconds)
return 1
