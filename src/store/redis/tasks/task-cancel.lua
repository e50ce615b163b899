-- Begins to cancel a task: no further row comes into the queue.
--
-- KEYS  1 to 11 are the keys of the task (ledger.lua), 12 is queues.
-- ARGV  are now (ms), the reason (JSON text) or "".
-- Returns "ok" or "ended"; nothing when there is no such task.
-- include: arguments ledger backlog closing

QUEUES = KEYS[12]
now = number()
local reason = text()
local key = wrongTask(1)
if key then return redis.error_reply(unusable(key)) end

local ledger = ledgerOf(1)
if not ledger then return false end
if ledger.state == 'done' or ledger.state == 'cancelled' then return 'ended' end
-- A server at its memory limit allows this script, because the first write is a removal (of nothing).
redis.call('HDEL', KEYS[1], '')
if ledger.state == 'open' then stop(ledger, reason) end
closeLedgers()
return 'ok'
