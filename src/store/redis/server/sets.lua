-- Adds jobs to sets, so that each stays.

-- Appends a number to a text as white space, which JSON allows: its binary digits as spaces and tabs.
local function numbered(entry, n)
  local digits = {}
  while n > 0 do
    digits[#digits + 1] = n % 2 == 1 and ' ' or '\t'
    n = math.floor(n / 2)
  end
  return entry .. table.concat(digits)
end

-- A set has each text once. When another job has the same text there, this one gets a number, so that both stay: the
-- free number directly after a used one. Of n equal texts about log n are read.
local function distinct(key, entry)
  local function isUsed(n) return redis.call('ZSCORE', key, numbered(entry, n)) end
  if not isUsed(0) then return entry end
  local used, free = 0, 1
  while isUsed(free) do used, free = free, free * 2 end
  while free - used > 1 do
    local middle = math.floor((used + free) / 2)
    if isUsed(middle) then used = middle else free = middle end
  end
  return numbered(entry, free)
end

local function addToSet(key, score, entry) redis.call('ZADD', key, score, distinct(key, entry)) end
