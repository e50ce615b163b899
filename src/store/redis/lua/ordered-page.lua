-- A page of each of several sorted sets, as one order of (score, id).
--
-- KEYS  the sets.
-- ARGV  "desc" or "", most entries, and the entry behind which the page begins, which need not be there: score, id; or
--       nothing: it begins with the first.
-- Gives id, score, id, … of each.
-- include: arguments

local order, most, score, place = text(), number(), text(), text()
local isDesc = order == 'desc'

-- Byte by byte, as Redis sorts: Lua goes by the language of the server.
local function isBefore(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

-- How many come before the page.
local function rank(key)
  if not score then return 0 end
  local low = redis.call('ZCOUNT', key, '-inf', '(' .. score)
  local high = low + redis.call('ZCOUNT', key, score, score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local other = redis.call('ZRANGE', key, middle, middle)[1]
    if isBefore(other, place) or not isDesc and other == place then low = middle + 1 else high = middle end
  end
  return isDesc and redis.call('ZCARD', key) - low or low
end

local pages = {}
for i, key in ipairs(KEYS) do
  if wrong(key, 'zset') then return redis.error_reply(unusable(key)) end
  local first = rank(key)
  pages[i] = redis.call(isDesc and 'ZREVRANGE' or 'ZRANGE', key, first, first + most - 1, 'WITHSCORES')
end
return pages
