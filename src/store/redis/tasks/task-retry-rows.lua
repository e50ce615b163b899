-- Puts rejected rows into the backlog again, and removes their entries from the dead set.
--
-- KEYS  as in task-open.lua; 14 is the dead set.
-- ARGV  begin as there; then come run, and the rows as in retried-rows.lua.
-- Returns the answers as one text: o ok, g gone, d dropped.
-- include: arguments ledger backlog closing retried-rows task-open

local run = number()
refuse(wrong(KEYS[14], 'zset'))
local isOpen = ledger and ledger.run == run and (ledger.state == 'open' or ledger.state == 'done')
local answers, write = putBack(isOpen and ledger, run)
if write then
  -- A server at its memory limit refuses this first write, and then nothing has changed.
  write()
  closeLedgers()
end
return table.concat(answers)
