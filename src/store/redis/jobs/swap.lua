-- Moves or drops entries of a set, each only if it is unchanged. Atomic for each entry.
--
-- KEYS  1 is the set, 2 is queues; then the keys that items name.
-- ARGV  are now (ms), the channel for due jobs, number of entries; of each: text, score, item (moves.lua).
-- Returns the answers as one text (o ok, g gone, e error), and the problems as lines.
-- include: arguments ledger backlog closing iteration clock cancellations moves

local set = KEYS[1]
QUEUES = KEYS[2]
now = number()
local channel = text()
if wrong(set, 'zset') then return redis.error_reply(unusable(set)) end

local answers, problems = {}, {}
for i = 1, number() do
  local entry, score, item = text(), text(), readItem()
  local problem = obstacle(item)
  if problem then
    problems[#problems + 1] = problem
    answers[i] = 'e'
  elseif tonumber(redis.call('ZSCORE', set, entry) or 'nan') ~= tonumber(score) then
    answers[i] = 'g'
  else
    redis.call('ZREM', set, entry)
    local ok, err = pcall(apply, item)
    answers[i] = ok and 'o' or 'e'
    if not ok then
      redis.call('ZADD', set, score, entry)
      problems[#problems + 1] = messageOf(err)
    end
  end
end
finish(channel, function(problem) problems[#problems + 1] = problem end)
return { table.concat(answers), table.concat(problems, '\n') }
