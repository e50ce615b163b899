-- Finds positions in sorted sets, whose entries are ordered by (score, text).

-- Compares byte by byte, as Redis sorts. Lua's own comparison depends on the locale of the server.
local function isBefore(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

-- Returns the number of entries before an entry, which may be gone. With `isBehind` the entry itself counts, too.
local function rankOf(key, score, entry, isBehind)
  local low = redis.call('ZCOUNT', key, '-inf', '(' .. score)
  local high = low + redis.call('ZCOUNT', key, score, score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local other = redis.call('ZRANGE', key, middle, middle)[1]
    if isBefore(other, entry) or isBehind and other == entry then low = middle + 1 else high = middle end
  end
  return low
end
