-- Reads a page of a set that begins after an entry, which may be gone.
--
-- One script does this: between two commands other clients may remove entries, and a page by rank would then skip as
-- many.
--
-- KEYS  1 is the set.
-- ARGV  are score and text of the entry, "desc" or "", number of entries.
-- Returns texts and scores by turns.
-- include: arguments

expect('zset')
local score, entry, isDesc, limit = text(), text(), text() == 'desc', number()

-- Compares byte by byte, as Redis sorts. Lua's own comparison depends on the locale of the server.
local function isBefore(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

local function sought()
  -- Finds, among entries of the same score, the first one that is not before the entry (ascending: the first one
  -- after it).
  local low = redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. score)
  local high = low + redis.call('ZCOUNT', KEYS[1], score, score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local other = redis.call('ZRANGE', KEYS[1], middle, middle)[1]
    if isBefore(other, entry) or not isDesc and other == entry then low = middle + 1 else high = middle end
  end
  return isDesc and redis.call('ZCARD', KEYS[1]) - low or low
end

local start
if tonumber(redis.call('ZSCORE', KEYS[1], entry) or 'nan') == tonumber(score) then
  start = redis.call(isDesc and 'ZREVRANK' or 'ZRANK', KEYS[1], entry) + 1
else
  start = sought()
end
return redis.call(isDesc and 'ZREVRANGE' or 'ZRANGE', KEYS[1], start, start + limit - 1, 'WITHSCORES')
