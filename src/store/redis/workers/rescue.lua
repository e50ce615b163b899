-- Moves jobs of claimed owners. Atomic for each job.
--
-- KEYS  1 is queues; then the keys that ARGV names.
-- ARGV  are now (ms), the channel for due jobs, number of jobs; of each: owner, numbers of the keys of leases,
--       working and arriving, "ticket" or "arrival", ticket or text, item (moves.lua).
-- Returns the answers as one text (o ok, g gone, e error), and the problems as lines.
-- include: arguments ledger backlog closing iteration clock cancellations moves

QUEUES = KEYS[1]
now = number()
local channel = text()

local answers, problems = {}, {}
local function refuse(i, problem)
  problems[#problems + 1] = problem
  answers[i] = 'e'
end

local function isClaimed(leases, owner)
  local ends = redis.call('ZSCORE', leases, owner)
  return ends and tonumber(ends) < 0
end

local function removeFromOwner(working, arriving, source, name)
  if source == 'ticket' then
    local job = redis.call('HGET', working, name)
    if job and redis.call('HDEL', working, name) == 1 then
      return function() redis.call('HSET', working, name, job) end
    end
  elseif redis.call('LREM', arriving, 1, name) == 1 then
    return function() redis.call('LPUSH', arriving, name) end
  end
end

for i = 1, number() do
  local owner, leases, working, arriving = text(), KEYS[number()], KEYS[number()], KEYS[number()]
  local source, name, item = text(), text(), readItem()
  local key = (wrong(leases, 'zset') and leases) or (wrong(working, 'hash') and working)
    or (wrong(arriving, 'list') and arriving)
  local problem = key and unusable(key) or obstacle(item)
  if problem then
    refuse(i, problem)
  elseif not isClaimed(leases, owner) then
    answers[i] = 'g'
  else
    local putBack = removeFromOwner(working, arriving, source, name)
    answers[i] = putBack and 'o' or 'g'
    if putBack then
      local ok, err = pcall(apply, item)
      if not ok then
        putBack()
        refuse(i, messageOf(err))
      end
    end
  end
end
finish(channel, function(problem) problems[#problems + 1] = problem end)
return { table.concat(answers), table.concat(problems, '\n') }
