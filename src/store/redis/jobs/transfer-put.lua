-- Stores the jobs of a page from another store, and remembers its name: all of it or nothing.
--
-- KEYS  1 is queues, 2 is the locks of unique jobs, 3 is the pages, 4 is the cancellations, 5 is their newest version; then the
--       keys that items name.
-- ARGV  begin as in moves-open.lua; then come name of the page, what becomes of it, number of pages to keep, seconds for
--       which an iteration is kept, number of jobs; of each: number of the key of its iteration if it is cancelled or 0, jid, due or "", number of
--       locks, and of each lock its name, end or "", suspicion (unique.lua); item (moves.lua).
-- Returns what became of the page.
-- include: arguments ledger backlog closing iteration cancellations record unique batches slots sets moves cancel transfer-outcome moves-open

local locks, pages, cancelled, newest = KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local page, outcome, kept, seconds = text(), text(), number(), number()
refuse(wrong(locks, 'hash'))
refuse(wrong(pages, 'zset'))
refuse(wrong(cancelled, 'zset'))
refuse(wrong(newest, 'string'))
local known = outcomeOf(pages, page)
if known then return known end

local all = {}
for i = 1, number() do
  local one = { iteration = KEYS[number()], jid = text(), due = text(), claims = readClaims() }
  one.item = readItem()
  local problem = obstacle(one.item)
  if problem then return redis.error_reply(problem) end
  if one.iteration then refuse(wrong(one.iteration, 'hash')) end
  all[i] = one
end
for _, one in ipairs(all) do
  for _, claim in ipairs(one.claims) do
    if not findLock(locks, claim.key, now) then acquireLocks(locks, { claim }, one.jid, one.due) end
  end
  if one.iteration then cancel(cancelled, newest, one.iteration, one.jid, seconds) end
  apply(one.item)
end
rememberOutcome(pages, page, outcome, kept)
finish(channel)
return outcome
