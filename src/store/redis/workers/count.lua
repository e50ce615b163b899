-- Counts many keys in one step, so that a job that moves meanwhile is counted once. A key of the wrong type counts as
-- 0.
--
-- KEYS  are the keys to count.
-- ARGV  are the command for each key. Of several numbers it counts the sum.
-- Returns the counts.
-- include: arguments

local counts = {}
for i, key in ipairs(KEYS) do
  local count = redis.pcall(text(), key)
  if type(count) == 'table' then
    counts[i] = 0
    for _, n in ipairs(count) do counts[i] = counts[i] + (tonumber(n) or 0) end
  else
    counts[i] = tonumber(count or 0) or 0
  end
end
return counts
