-- Ends a page of jobs that is held for another store, and applies moves: all of it or nothing.
--
-- KEYS  1 is queues, 2 is the page, 3 is its jobs, 4 is the tasks that move (hash); then the keys that items name.
-- ARGV  begin as in moves-open.lua; then come transfer, number of the page, number of tasks whose sets get jobs, these tasks,
--       number of items, and each item (moves.lua).
-- Returns 1; 0 when this page is not held, or one of these tasks does not move.
-- include: arguments ledger backlog closing iteration cancellations record unique batches slots sets moves items moves-open transfer-page

local page, jobs, transfer, n = KEYS[2], KEYS[3], text(), number()
refuse(wrong(page, 'hash'))
refuse(wrong(jobs, 'list'))
if redis.call('EXISTS', jobs) == 0 or not isPage(page, transfer, n) then return 0 end
for i = 1, number() do
  refuse(wrong(KEYS[4], 'hash'))
  if redis.call('HEXISTS', KEYS[4], text()) == 0 then return 0 end
end
local items = readItems()
redis.call('DEL', jobs)
for _, item in ipairs(items) do apply(item) end
finish(channel)
return 1
