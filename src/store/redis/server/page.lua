-- Reads a page of each of several sorted sets, in one order of (score, text).
--
-- One script does this: between two commands other clients may remove entries, and a page by rank would then skip as
-- many.
--
-- KEYS  are the sets.
-- ARGV  are "desc" or "", most entries, and score and text of the entry after which the page begins, which may be gone;
--       without them the page begins with the first entry.
-- Returns text, score, text, … of each set.
-- include: arguments

local isDesc, most, score, entry = text() == 'desc', number(), text(), text()

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
    if isBefore(other, entry) or not isDesc and other == entry then low = middle + 1 else high = middle end
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
