-- Counts many keys in one step, so that a job that moves meanwhile is counted once. A key of the wrong type counts as
-- 0.
--
-- KEYS  are the keys to count.
-- ARGV  are the command for each key.
-- Returns the counts.
-- include: arguments

local counts = {}
for i, key in ipairs(KEYS) do
  local count = redis.pcall(text(), key)
  counts[i] = type(count) == 'table' and 0 or tonumber(count or 0) or 0
end
return counts
