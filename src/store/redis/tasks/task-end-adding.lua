-- Ends adding for a producer that is done or lost.
--
-- KEYS  as in task-open.lua.
-- ARGV  begin as there; then come producer, "" or "1" (it was interrupted).
-- Returns "ok" and the total; or the reason why not, and the cursor.
-- include: arguments ledger backlog closing producers task-open

local producer, broken = text(), text()
refuse(wrong(KEYS[13], 'hash'))
if not ledger then return { 'unknown', 0 } end
local at, isGone = cursorOf(ledger, producer)
local kind = closeProducer(ledger, KEYS[13], producer)
if not at or isGone or broken == '' and isLost(ledger, producer) then return { 'taken-over', at or 0 } end
if kind == 'a' and broken == '1' then ledger.broken = withLine(ledger.broken, producer) end
if kind == 'a' and ledger.producers == '' then checkMaxFailures(ledger, true) end
closeLedgers()
return { 'ok', ledger.total }
