-- Removes rows from the window of a task whose jobs have left the queue, so that backlog rows come in.
--
-- KEYS  1 to 11 are the keys of the task (ledger.lua), 12 is queues.
-- ARGV  are now (ms), indexes.
-- include: arguments ledger backlog closing

QUEUES = KEYS[12]
now = number()
local key = wrongTask(1)
if key then return redis.error_reply(unusable(key)) end
local ledger = ledgerOf(1)
if not ledger then return end
-- A server at its memory limit allows this script, because the first write is a removal (of nothing).
redis.call('HDEL', KEYS[1], '')
while cursor < #ARGV do
  local event = eventOf(ledger, number())
  if event and event.location == WINDOW then
    leave(ledger, event)
    touch(ledger, event)
  end
end
closeLedgers()
