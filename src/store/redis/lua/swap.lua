-- Moves or drops entries of a set, each only if it is still as it was read. Atomic per entry.
--
-- KEYS  1 the set, 2 queues; then the keys that items name.
-- ARGV  now (ms), wake channel, number of entries; of each: text, score, item (moves.lua).
-- Gives answers as one text (o ok, g gone, e error), and what was wrong, as lines.
-- include: arguments ledger waiting closing iteration clock marks moves

local set = KEYS[1]
QUEUES = KEYS[2]
now = number()
local channel = text()
if wrong(set, 'zset') then return redis.error_reply(unusable(set)) end

local answers, wrongs = {}, {}
for i = 1, number() do
  local entry, score, item = text(), text(), readItem()
  local line = obstacle(item)
  if line then
    wrongs[#wrongs + 1] = line
    answers[i] = 'e'
  elseif tonumber(redis.call('ZSCORE', set, entry) or 'nan') ~= tonumber(score) then
    answers[i] = 'g'
  else
    redis.call('ZREM', set, entry)
    local ok, err = pcall(apply, item)
    answers[i] = ok and 'o' or 'e'
    if not ok then
      redis.call('ZADD', set, score, entry)
      wrongs[#wrongs + 1] = lineOf(err)
    end
  end
end
finish(channel, function(line) wrongs[#wrongs + 1] = line end)
return { table.concat(answers), table.concat(wrongs, '\n') }
