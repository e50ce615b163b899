-- Counts many keys in one step, so that a job that moves meanwhile is counted once. A key of the wrong type counts as 0, except
-- that of an owner, which is an error.
--
-- The keys of owners are put together here: with many workers there are many thousands of them, and sending them costs more
-- than counting.
--
-- KEYS  are the leases, then the keys to count, in groups.
-- ARGV  are the key of an owner up to its name; for its keys `working` and `arriving` each, the text before the queue and the
--       text between queue and owner; for each group, the command that counts a key, and the number of keys. Of several
--       numbers it counts the sum.
-- Returns the sum of each group, then the number of jobs that all owners hold.
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

local function countAll(command, keys, first, last)
  local sum = 0
  for from = first, last, CHECKED do
    local to = math.min(from + CHECKED - 1, last)
    if redis.call('EXISTS', unpack(keys, from, to)) > 0 then
      for i = from, to do sum = sum + count(command, keys[i]) end
    end
  end
  return sum
end

local ownerKey = text()
local working, arriving = { text(), text() }, { text(), text() }
local sums, last = {}, 1
for group = 1, (#ARGV - 5) / 2 do
  local command, first = text(), last + 1
  last = last + number()
  sums[group] = countAll(command, KEYS, first, last)
end

local hashes, lists = {}, {}
for _, owner in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  local key = ownerKey .. owner
  local fields = redis.pcall('HKEYS', key)
  refuse(fields.err and key)
  for _, field in ipairs(fields) do
    if string.sub(field, 1, 2) == 'q ' then
      local queue = string.sub(field, 3)
      hashes[#hashes + 1] = working[1] .. queue .. working[2] .. owner
      lists[#lists + 1] = arriving[1] .. queue .. arriving[2] .. owner
    end
  end
end
sums[#sums + 1] = countAll('HLEN', hashes, 1, #hashes) + countAll('LLEN', lists, 1, #lists)
return sums
