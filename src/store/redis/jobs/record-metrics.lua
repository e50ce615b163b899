-- Adds the counts of a process to the sums and histograms of their minute, once.
--
-- KEYS  1 is the number of the last batch of the process; then the keys that ARGV names, those of hashes first.
-- ARGV  are the number of this batch, seconds for which it and histograms of minutes are kept, and those of ten
--       minutes; number of hashes with sums, and of each: number of its key, seconds for which it is kept; number of the key of waits (0: there are none), number
--       of counts of waits, and of each: field, count; number of classes, and of each: name, processed,
--       failed, ms, number of buckets that are not empty, and if there are any: numbers of the histogram's keys (of its
--       minute and ten minutes), and of each bucket: its index, its count.
-- Returns the problems as lines.
-- include: arguments

local batch, kept, keptLong = number(), number(), number()
local sums = {}
for i = 1, number() do sums[i] = { key = KEYS[number()], seconds = number() } end
local waits, fields = number(), {}
for i = 1, number() do fields[i] = { name = text(), count = number() } end
local last_hash = math.max(#sums + 1, waits)
for i, key in ipairs(KEYS) do
  refuse(wrong(key, i <= last_hash and i > 1 and 'hash' or 'string'))
end

if tonumber(redis.call('GET', KEYS[1]) or 0) >= batch then return '' end
redis.call('SET', KEYS[1], batch, 'EX', kept)

-- A field that another program has spoilt must not stop the other fields.
local problems = {}
local function add(...)
  local answer = redis.pcall(...)
  if type(answer) == 'table' and answer.err then problems[#problems + 1] = select(2, ...) .. ': ' .. answer.err end
end

for _, field in ipairs(fields) do add('HINCRBY', KEYS[waits], field.name, field.count) end
if waits > 0 then redis.call('EXPIRE', KEYS[waits], kept) end
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
    local key, long = KEYS[number()], KEYS[number()]
    local words, longWords = {}, {}
    for _ = 1, buckets do
      local bucket, count = '#' .. text(), text()
      for _, word in ipairs({ 'INCRBY', 'u16', bucket, count }) do words[#words + 1] = word end
      for _, word in ipairs({ 'INCRBY', 'u32', bucket, count }) do longWords[#longWords + 1] = word end
    end
    add('BITFIELD', key, 'OVERFLOW', 'SAT', unpack(words))
    add('BITFIELD', long, 'OVERFLOW', 'SAT', unpack(longWords))
    redis.call('EXPIRE', key, kept)
    redis.call('EXPIRE', long, keptLong)
  end
end
for _, sum in ipairs(sums) do redis.call('EXPIRE', sum.key, sum.seconds) end
return table.concat(problems, '\n')
