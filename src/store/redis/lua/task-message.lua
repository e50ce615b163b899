-- Adds a message to an event. Gives 1; 0 when there is no such event.
--
-- KEYS  1 to 11 the task (ledger.lua).
-- ARGV  index, message.
-- include: arguments ledger waiting closing

local key = wrongTask(1)
if key then return redis.error_reply(unusable(key)) end
local index, message = number(), text()
local book = bookOf(1)
if not book or not eventOf(book, index) then return 0 end
addMessages(book, index, { message })
return 1
