-- A page of a set that goes on behind an entry, whether that is still there or not. In one step: by ranks that were read
-- before, others who take entries out meanwhile would make it skip as many.
--
-- KEYS  1 the set.
-- ARGV  score and text of the entry, "desc" or "", how many entries.
-- Gives texts and scores by turns.
-- include: arguments

if wrong(KEYS[1], 'zset') then return redis.error_reply(unusable(KEYS[1])) end
local score, place, isDesc, limit = text(), text(), text() == 'desc', number()

-- Byte by byte, as Redis sorts: Lua goes by the language of the server.
local function isBefore(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

local function sought()
  -- Among those of the same score, the first one that is not before the place (upwards: that is behind it).
  local low = redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. score)
  local high = low + redis.call('ZCOUNT', KEYS[1], score, score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local other = redis.call('ZRANGE', KEYS[1], middle, middle)[1]
    if isBefore(other, place) or not isDesc and other == place then low = middle + 1 else high = middle end
  end
  return isDesc and redis.call('ZCARD', KEYS[1]) - low or low
end

local start
if tonumber(redis.call('ZSCORE', KEYS[1], place) or 'nan') == tonumber(score) then
  start = redis.call(isDesc and 'ZREVRANK' or 'ZRANK', KEYS[1], place) + 1
else
  start = sought()
end
return redis.call(isDesc and 'ZREVRANGE' or 'ZRANGE', KEYS[1], start, start + limit - 1, 'WITHSCORES')
