-- Moves or drops entries of a set, each only if it is unchanged. Atomic for each entry.
--
-- KEYS  1 is queues, 2 is the set; then the keys that items name.
-- ARGV  begin as in moves-open.lua; then come number of entries; of each: text, score, item (moves.lua).
-- Returns the answers as one text (o ok, g gone, e error), and the problems as lines.
-- include: arguments ledger backlog closing iteration cancellations record unique batches slots moves moves-open

local set = KEYS[2]
refuse(wrong(set, 'zset'))

local function remove(entry, score)
  if tonumber(redis.call('ZSCORE', set, entry) or 'nan') ~= tonumber(score) then return end
  redis.call('ZREM', set, entry)
  return function() redis.call('ZADD', set, score, entry) end
end

local answers = {}
for i = 1, number() do
  local entry, score = text(), text()
  answers[i] = move({ readItem() }, remove, entry, score)
end
finish(channel, report)
return { table.concat(answers), table.concat(problems, '\n') }
