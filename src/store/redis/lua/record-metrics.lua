-- Adds what a process counted to the sums and histograms of its minute, once.
--
-- KEYS  1 the number of the process's last batch; then those that ARGV names.
-- ARGV  number of this batch, seconds that it and histograms are kept; number of hashes with sums, and of each: its
--       place, seconds that it is kept; number of classes, and of each: name, processed, failed, ms, number of buckets
--       that are not empty, and if there are: place of the histogram, and of each: its number, how many.
-- Gives what did not count, as lines.
-- include: arguments

local batch, kept = number(), number()
local sums = {}
for i = 1, number() do sums[i] = { key = KEYS[number()], seconds = number() } end
for i, key in ipairs(KEYS) do
  if wrong(key, i <= #sums + 1 and i > 1 and 'hash' or 'string') then return redis.error_reply(unusable(key)) end
end

if tonumber(redis.call('GET', KEYS[1]) or 0) >= batch then return '' end
redis.call('SET', KEYS[1], batch, 'EX', kept)

-- Somebody else's text in a field spoils this field alone.
local wrongs = {}
local function add(...)
  local answer = redis.pcall(...)
  if type(answer) == 'table' and answer.err then wrongs[#wrongs + 1] = select(2, ...) .. ': ' .. answer.err end
end

for _ = 1, number() do
  local name = text()
  for _, field in ipairs({ 'p', 'f', 'ms' }) do
    local n = number()
    if n > 0 then
      for _, sum in ipairs(sums) do add('HINCRBY', sum.key, name .. '|' .. field, n) end
    end
  end
  local buckets = number()
  if buckets > 0 then
    local key = KEYS[number()]
    local words = {}
    for _ = 1, buckets do
      for _, word in ipairs({ 'INCRBY', 'u16', '#' .. text(), text() }) do words[#words + 1] = word end
    end
    add('BITFIELD', key, 'OVERFLOW', 'SAT', unpack(words))
    redis.call('EXPIRE', key, kept)
  end
end
for _, sum in ipairs(sums) do redis.call('EXPIRE', sum.key, sum.seconds) end
return table.concat(wrongs, '\n')
