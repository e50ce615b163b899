-- Begins the next run of a task, with rows to put back or without.
--
-- KEYS  as in task-open.lua; 14 is the dead set.
-- ARGV  begin as there; then come the current run, producer, and the rows as in retried-rows.lua.
-- Returns "ok", "gone", "cancelling" or "empty" (none of the rows can run again); nothing when there is no such task.
-- include: arguments ledger backlog closing producers retried-rows task-open

local run, producer = number(), text()
refuse(wrong(KEYS[13], 'hash') or wrong(KEYS[14], 'zset'))
if not ledger then return false end
if ledger.run == run + 1 and producerLine(ledger, producer) then return 'ok' end
if ledger.run ~= run then return 'gone' end
if ledger.state == 'cancelling' then return 'cancelling' end

local n = ledger.n
local ended = n[2] + n[3] + n[4] + n[5]
local answers, write = putBack(ledger, run + 1)
if #answers > 0 and not write then return 'empty' end
-- A server at its memory limit refuses this first write, and then nothing has changed.
redis.call('HSET', KEYS[1], 'cursor:' .. producer, 0)
-- The reason of a cancellation goes; that of a pause or an interruption stays.
if ledger.paused == '' and ledger.broken == '' then redis.call('HSET', KEYS[1], 'reason', '') end
redis.call('HSET', KEYS[1], 'runAt', now, 'endedBefore', ended)
ledger.run, ledger.state, ledger.finishedAt = run + 1, 'open', ''
openProducer(ledger, KEYS[13], 'r', producer)
if write then write() end
closeLedgers()
return 'ok'
