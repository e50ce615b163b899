-- Counts many things in one step, so that a job on its way is counted once. What can't be counted gives 0.
--
-- KEYS  what is counted.
-- ARGV  the command for each key.
-- include: arguments

local counts = {}
for i, key in ipairs(KEYS) do
  local count = redis.pcall(text(), key)
  counts[i] = type(count) == 'table' and 0 or tonumber(count or 0) or 0
end
return counts
