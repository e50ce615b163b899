-- Stores jobs that have a priority, or with which more changes than the event of a job in a queue: all of them or none, in the
-- order given.
--
-- KEYS  1 is queues; then the keys that items name.
-- ARGV  begin as in moves-open.lua; then come number of jobs, and the item (moves.lua) of each.
-- include: arguments ledger backlog closing iteration cancellations record unique batches slots sets moves items moves-open

local items = readItems()
for _, item in ipairs(items) do apply(item) end
finish(channel)
