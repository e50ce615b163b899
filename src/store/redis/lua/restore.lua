-- Moves jobs of claimed owners. Atomic per job.
--
-- KEYS  1 queues; then the keys that ARGV names.
-- ARGV  now (ms), wake channel, number of jobs; of each: owner, places of leases, working and arriving of its queue,
--       "ticket" | "arrival", ticket or text, item (moves.lua).
-- Gives answers as one text (o ok, g gone, e error), and what was wrong, as lines.
-- include: arguments ledger waiting closing iteration clock marks moves

QUEUES = KEYS[1]
now = number()
local channel = text()

local answers, wrongs = {}, {}
local function refuse(i, line)
  wrongs[#wrongs + 1] = line
  answers[i] = 'e'
end

local function isClaimed(leases, owner)
  local ends = redis.call('ZSCORE', leases, owner)
  return ends and tonumber(ends) < 0
end

local function take(working, arriving, source, name)
  if source == 'ticket' then
    local held = redis.call('HGET', working, name)
    if held and redis.call('HDEL', working, name) == 1 then
      return function() redis.call('HSET', working, name, held) end
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
  local line = key and unusable(key) or obstacle(item)
  if line then
    refuse(i, line)
  elseif not isClaimed(leases, owner) then
    answers[i] = 'g'
  else
    local putBack = take(working, arriving, source, name)
    answers[i] = putBack and 'o' or 'g'
    if putBack then
      local ok, err = pcall(apply, item)
      if not ok then
        putBack()
        refuse(i, lineOf(err))
      end
    end
  end
end
finish(channel, function(line) wrongs[#wrongs + 1] = line end)
return { table.concat(answers), table.concat(wrongs, '\n') }
