-- Moves or drops entries of a set, each only if it is unchanged. Atomic for each entry.
--
-- KEYS  1 is queues, 2 is the set, 3 is limited-queues; then the keys that items name.
-- ARGV  begin as in moves-open.lua; then come "1" (the jobs of the set wait for room in a limit) or "0", number of
--       entries; of each: text, score, its queue, item (moves.lua).
-- Returns the answers as one text (o ok, g gone, e error), and the problems as lines.
-- include: arguments ledger backlog closing iteration cancellations record unique batches slots sets moves moves-open

local set, isLimited = KEYS[2], text() == '1'
refuse(wrong(set, 'zset') or wrong(KEYS[3], 'hash'))

local function remove(entry, score, queue)
  if tonumber(redis.call('ZSCORE', set, entry) or 'nan') ~= tonumber(score) then return end
  redis.call('ZREM', set, entry)
  if isLimited then countLimited(KEYS[3], queue, -1) end
  return function()
    redis.call('ZADD', set, score, entry)
    if isLimited then countLimited(KEYS[3], queue, 1) end
  end
end

local answers = {}
for i = 1, number() do
  local entry, score, queue = text(), text(), text()
  answers[i] = move({ readItem() }, remove, entry, score, queue)
end
finish(channel, report)
return { table.concat(answers), table.concat(problems, '\n') }
