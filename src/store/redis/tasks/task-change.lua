-- Changes settings of a task, or begins to cancel it: no further row comes into the queue.
--
-- KEYS  as in task-open.lua.
-- ARGV  begin as there; then come fields of the header with their values; or "cancelling" and the reason (JSON text) or "".
-- Returns "ok" or "ended"; nothing when there is no such task.
-- include: arguments ledger backlog closing task-open

if not ledger then return false end
if ledger.state == 'done' or ledger.state == 'cancelled' then return 'ended' end
removeNothing('HDEL', KEYS[1])
while position < #ARGV do
  local field, value = text(), text()
  if field == 'paused' then
    -- A pause sets its own reason, and resuming removes it.
    if ledger.state == 'open' and value ~= ledger.paused then
      ledger.paused = value
      redis.call('HSET', KEYS[1], 'reason', '')
    end
  elseif field == 'cancelling' then
    if ledger.state == 'open' then stop(ledger, value) end
  elseif field == 'window' then
    ledger.window = tonumber(value)
  else
    redis.call('HSET', KEYS[1], field, value)
  end
end
closeLedgers()
return 'ok'
