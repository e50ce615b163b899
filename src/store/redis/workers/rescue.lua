-- Moves jobs of claimed owners. Atomic for each job.
--
-- KEYS  1 is queues; then the keys that ARGV names.
-- ARGV  begin as in moves-open.lua; then come number of jobs; of each: owner, numbers of the keys of leases,
--       working and arriving, "ticket" or "arrival", ticket or text, item (moves.lua).
-- Returns the answers as one text (o ok, g gone, e error), and the problems as lines.
-- include: arguments ledger backlog closing iteration cancellations record unique batches slots sets moves moves-open

-- A claimed lease has a negative stamp.
local function remove(leases, owner, working, arriving, source, ticketOrText)
  local stamp = redis.call('ZSCORE', leases, owner)
  if not stamp or tonumber(stamp) >= 0 then return end
  if source == 'ticket' then
    local job = redis.call('HGET', working, ticketOrText)
    if job and redis.call('HDEL', working, ticketOrText) == 1 then
      return function() redis.call('HSET', working, ticketOrText, job) end
    end
  elseif redis.call('LREM', arriving, 1, ticketOrText) == 1 then
    return function() redis.call('LPUSH', arriving, ticketOrText) end
  end
end

local answers = {}
for i = 1, number() do
  local owner, leases, working, arriving = text(), KEYS[number()], KEYS[number()], KEYS[number()]
  local source, ticketOrText, item = text(), text(), readItem()
  local key = wrong(leases, 'zset') or wrong(working, 'hash') or wrong(arriving, 'list')
  if key then
    report(unusable(key))
    answers[i] = 'e'
  else
    answers[i] = move({ item }, remove, leases, owner, working, arriving, source, ticketOrText)
  end
end
finish(channel, report)
return { table.concat(answers), table.concat(problems, '\n') }
