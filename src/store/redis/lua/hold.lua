-- Acquires a duty, which one holder at a time has. Gives 1 when `holder` holds it now; else its current value.
--
-- The value is the holder and a number that is new in each call. It expires by the server's clock. A caller that has
-- seen one value unchanged for long enough on its own clock overrides it, since the server's clock may have been set
-- back.
--
-- KEYS  1 the duty.
-- ARGV  holder, value to set, the value that may be overridden or "", milliseconds; or holder, "", "", "" to give it up.
-- include: arguments

local holder, value, overdue, ms = text(), text(), text(), number()
if wrong(KEYS[1], 'string') then return redis.error_reply(unusable(KEYS[1])) end
local has = redis.call('GET', KEYS[1])
if has and has ~= overdue and string.match(has, '^(.*) %d+$') ~= holder then return has end
if not ms then return redis.call('DEL', KEYS[1]) end
-- At its memory limit the server refuses a script whose first write may grow: this one removes.
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[1], value, 'PX', ms)
return 1
