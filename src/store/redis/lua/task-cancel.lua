-- Lets nothing of a task come into the queue any more.
--
-- KEYS  1 to 11 the task (ledger.lua), 12 queues.
-- ARGV  now (ms), reason (JSON text) or "".
-- Gives "ok" or "ended"; nothing when there is no such task.
-- include: arguments ledger waiting closing

QUEUES = KEYS[12]
now = number()
local reason = text()
local key = wrongTask(1)
if key then return redis.error_reply(unusable(key)) end

local book = bookOf(1)
if not book then return false end
if book.state == 'done' or book.state == 'cancelled' then return 'ended' end
-- At its memory limit the server refuses a script whose first write may grow: this one removes nothing.
redis.call('HDEL', KEYS[1], '')
if book.state == 'open' then stop(book, reason) end
closeBooks()
return 'ok'
