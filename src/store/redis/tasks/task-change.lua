-- Changes settings of a task.
--
-- KEYS  1 to 11 are the keys of the task (ledger.lua), 12 is queues.
-- ARGV  are now (ms), then fields of the header with their values.
-- Returns "ok" or "ended"; nothing when there is no such task.
-- include: arguments ledger backlog closing

QUEUES = KEYS[12]
now = number()
local key = wrongTask(1)
if key then return redis.error_reply(unusable(key)) end

local ledger = ledgerOf(1)
if not ledger then return false end
if ledger.state == 'done' or ledger.state == 'cancelled' then return 'ended' end
-- A server at its memory limit allows this script, because the first write is a removal (of nothing).
redis.call('HDEL', KEYS[1], '')
while cursor < #ARGV do
  local field, value = text(), text()
  if field == 'paused' then
    -- A pause sets its own reason, and resuming removes it.
    if ledger.state == 'open' and value ~= ledger.paused then
      ledger.paused = value
      redis.call('HSET', KEYS[1], 'reason', '')
    end
  elseif field == 'window' then
    ledger.window = tonumber(value)
  else
    redis.call('HSET', KEYS[1], field, value)
  end
end
closeLedgers()
return 'ok'
