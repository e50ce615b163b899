-- A duty that one holder at a time has. Gives 1 when it is held by `holder` from now on.
--
-- KEYS  1 the duty.
-- ARGV  holder, milliseconds; or holder and "" to give it up.
-- include: arguments

local holder, ms = text(), number()
if wrong(KEYS[1], 'string') then return redis.error_reply(unusable(KEYS[1])) end
local has = redis.call('GET', KEYS[1])
if has and has ~= holder then return 0 end
if not ms then return redis.call('DEL', KEYS[1]) end
-- At its memory limit the server refuses a script whose first write may grow: this one removes.
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[1], holder, 'PX', ms)
return 1
