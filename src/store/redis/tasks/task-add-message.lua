-- Adds a message to an event.
--
-- KEYS  1 to 11 are the keys of the task (ledger.lua).
-- ARGV  are the index, the message.
-- Returns 1; 0 when there is no such event.
-- include: arguments ledger backlog closing

refuse(wrongTask(1))
local index, message = number(), text()
local ledger = ledgerOf(1)
if not ledger or not eventOf(ledger, index) then return 0 end
addMessages(ledger, index, { message })
return 1
