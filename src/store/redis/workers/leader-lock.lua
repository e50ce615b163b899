-- Acquires or releases a leader lock, which one holder has at a time.
--
-- Its value is the holder and a number that is new in each call. It expires by the server's clock. That clock may
-- have been set back: a caller that has seen one value unchanged for long enough on its own clock may override it.
--
-- KEYS  1 is the lock.
-- ARGV  are the holder, the new value, the value that may be overridden or "", milliseconds. To release: holder, "",
--       "", "".
-- Returns 1 when the holder has the lock now, or has released it; otherwise the current value.
-- include: arguments

local holder, value, overdue, ms = text(), text(), text(), number()
expect('string')
local has = redis.call('GET', KEYS[1])
if has and has ~= overdue and string.match(has, '^(.*) %d+$') ~= holder then return has end
if not ms then return redis.call('DEL', KEYS[1]) end
-- A server at its memory limit allows this script, because the first write is a removal.
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[1], value, 'PX', ms)
return 1
