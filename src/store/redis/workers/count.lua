-- Counts many keys in one step, so that a job that moves meanwhile is counted once. A key of the wrong type counts as
-- 0.
--
-- KEYS  are the keys to count, in groups.
-- ARGV  are, for each group, the command that counts a key, and the number of keys. Of several numbers it counts the sum.
-- Returns the sum of each group.
-- include: arguments

-- Most workers hold jobs of few of their queues, so most of the keys do not exist. One EXISTS of many is cheaper than a call
-- for each.
local CHECKED = 50

local function count(command, key)
  local answer = redis.pcall(command, key)
  if type(answer) ~= 'table' then return tonumber(answer or 0) or 0 end
  local sum = 0
  for _, n in ipairs(answer) do sum = sum + (tonumber(n) or 0) end
  return sum
end

local sums, last = {}, 0
for group = 1, #ARGV / 2 do
  local command, first, sum = text(), last + 1, 0
  last = last + number()
  for from = first, last, CHECKED do
    local to = math.min(from + CHECKED - 1, last)
    if redis.call('EXISTS', unpack(KEYS, from, to)) > 0 then
      for i = from, to do sum = sum + count(command, KEYS[i]) end
    end
  end
  sums[group] = sum
end
return sums
