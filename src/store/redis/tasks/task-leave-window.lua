-- Removes rows from the window of a task whose jobs have left the queue, so that backlog rows come in.
--
-- KEYS  as in task-open.lua.
-- ARGV  begin as there; then come indexes.
-- include: arguments ledger backlog closing task-open

if not ledger then return end
removeNothing('HDEL', KEYS[1])
while position < #ARGV do
  local event = eventOf(ledger, number())
  if event and event.location == WINDOW then
    leave(ledger, event)
    touch(ledger, event)
  end
end
closeLedgers()
