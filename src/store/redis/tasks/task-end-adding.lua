-- Ends adding for a producer that is done or lost.
--
-- KEYS  1 to 11 are the keys of the task (ledger.lua), 12 is queues, 13 is the producers (task and producer → kind).
-- ARGV  are now (ms), producer, "" or "1" (it was interrupted).
-- Returns "ok" and the total; or the reason why not, and the cursor.
-- include: arguments ledger backlog closing producers

QUEUES = KEYS[12]
now = number()
local producer, broken = text(), text()
local key = wrongTask(1) or wrong(KEYS[13], 'hash') and KEYS[13]
if key then return redis.error_reply(unusable(key)) end

local ledger = ledgerOf(1)
if not ledger then return { 'unknown', 0 } end
local at, isGone = cursorOf(ledger, producer)
local kind = closeProducer(ledger, KEYS[13], producer)
if not at or isGone then return { 'taken-over', at or 0 } end
if kind == 'a' and broken == '1' then ledger.broken = withLine(ledger.broken, producer) end
if kind == 'a' and ledger.producers == '' then checkMaxFailures(ledger, true) end
closeLedgers()
return { 'ok', ledger.total }
