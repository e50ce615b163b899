-- Begins the next run of a task.
--
-- KEYS  as in task-open.lua.
-- ARGV  begin as there; then come the current run, producer.
-- Returns "ok", "gone" or "cancelling"; nothing when there is no such task.
-- include: arguments ledger backlog closing producers task-open

local run, producer = number(), text()
refuse(wrong(KEYS[13], 'hash'))
if not ledger then return false end
if ledger.run == run + 1 and producerLine(ledger, producer) then return 'ok' end
if ledger.run ~= run then return 'gone' end
if ledger.state == 'cancelling' then return 'cancelling' end

-- A server at its memory limit refuses this first write, and then nothing has changed.
redis.call('HSET', KEYS[1], 'cursor:' .. producer, 0)
-- The reason of a cancellation goes; that of a pause or an interruption stays.
if ledger.paused == '' and ledger.broken == '' then redis.call('HSET', KEYS[1], 'reason', '') end
local n = ledger.n
redis.call('HSET', KEYS[1], 'runAt', now, 'endedBefore', n[2] + n[3] + n[4] + n[5])
ledger.run, ledger.state, ledger.finishedAt = run + 1, 'open', ''
openProducer(ledger, KEYS[13], 'r', producer)
closeLedgers()
return 'ok'
