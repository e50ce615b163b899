-- Stores the jobs of a page from another store, and remembers its number: all of it or nothing.
--
-- KEYS  1 is queues, 2 is the locks of unique jobs, 3 is the transfers; then the keys that items name.
-- ARGV  begin as in moves-open.lua; then come transfer, number of the page, number of jobs; of each: jid, due or "", number of
--       locks, and of each lock its name, end or "", suspicion (unique.lua); item (moves.lua).
-- Returns what became of the page.
-- include: arguments ledger backlog closing iteration cancellations record unique batches slots moves moves-open

local locks, transfers, transfer, n = KEYS[2], KEYS[3], text(), number()
refuse(wrong(locks, 'hash'))
refuse(wrong(transfers, 'hash'))
local last, outcome = string.match(redis.call('HGET', transfers, transfer) or '', '^(%d+) (%a+)$')
last = tonumber(last or 0)
if last >= n then return last == n and outcome or 'stored' end

local all = {}
for i = 1, number() do
  local one = { jid = text(), due = text(), claims = readClaims() }
  one.item = readItem()
  local problem = obstacle(one.item)
  if problem then return redis.error_reply(problem) end
  all[i] = one
end
for _, one in ipairs(all) do
  for _, claim in ipairs(one.claims) do
    if not findLock(locks, claim.key, now) then acquireLocks(locks, { claim }, one.jid, one.due) end
  end
  apply(one.item)
end
outcome = #all > 0 and 'stored' or 'void'
redis.call('HSET', transfers, transfer, string.format('%.0f ', n) .. outcome)
finish(channel)
return outcome
