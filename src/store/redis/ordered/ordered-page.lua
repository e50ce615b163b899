-- Reads a page of each of several sorted sets, for one order of (score, id).
--
-- KEYS  are the sets.
-- ARGV  are "desc" or "", most entries, and score and id of the entry after which the page begins, which may be gone;
--       without them the page begins with the first entry.
-- Returns id, score, id, … of each set.
-- include: arguments

local order, most, score, id = text(), number(), text(), text()
local isDesc = order == 'desc'

-- Compares byte by byte, as Redis sorts. Lua's own comparison depends on the locale of the server.
local function isBefore(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

-- Returns the number of entries before the page.
local function rank(key)
  if not score then return 0 end
  local low = redis.call('ZCOUNT', key, '-inf', '(' .. score)
  local high = low + redis.call('ZCOUNT', key, score, score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local other = redis.call('ZRANGE', key, middle, middle)[1]
    if isBefore(other, id) or not isDesc and other == id then low = middle + 1 else high = middle end
  end
  return isDesc and redis.call('ZCARD', key) - low or low
end

local pages = {}
for i, key in ipairs(KEYS) do
  refuse(wrong(key, 'zset'))
  local first = rank(key)
  pages[i] = redis.call(isDesc and 'ZREVRANGE' or 'ZRANGE', key, first, first + most - 1, 'WITHSCORES')
end
return pages
