-- Searches several queues at one moment for texts that contain a needle, each of them wholly and from its newest job on.
--
-- KEYS  are the lists of the queues: those of one queue behind each other.
-- ARGV  are the needle, most texts, most bytes; of each queue the number of its lists.
-- Returns the numbers of texts in the queues that it has searched, with commas; then for each hit LIST:BEFORE and its text. LIST is
-- the number of its list, from 1 on, and BEFORE that of the jobs before it. It ends before the first queue that has too many texts
-- or bytes.
-- include: arguments

local FEW = 16

local needle, most, mostBytes = text(), number(), number()
local hits, sizes, bytes, largest, last = {}, {}, 0, 1, 0

-- Returns the hits in a list; nil when the texts are too large.
local function search(list, length)
  local found, at, step = {}, 0, FEW
  while at < length do
    for _, job in ipairs(redis.call('LRANGE', KEYS[list], at, at + step - 1)) do
      at, bytes, largest = at + 1, bytes + #job, math.max(largest, #job)
      if string.find(job, needle, 1, true) then
        found[#found + 1] = list .. ':' .. length - at
        found[#found + 1] = job
      end
    end
    if bytes > mostBytes then return nil end
    step = math.max(math.floor((mostBytes - bytes) / largest), 1)
  end
  return found
end

while position < #ARGV do
  local first, of, lengths = last + 1, {}, 0
  last = last + number()
  for list = first, last do
    local length = redis.pcall('LLEN', KEYS[list])
    refuse(type(length) == 'table' and KEYS[list])
    of[#of + 1], lengths = length, lengths + length
  end
  if lengths > most then break end
  local found = {}
  for list = first, last do
    local some = search(list, of[list - first + 1])
    if not some then
      found = nil
      break
    end
    for _, part in ipairs(some) do found[#found + 1] = part end
  end
  if not found then break end
  for _, part in ipairs(found) do hits[#hits + 1] = part end
  sizes[#sizes + 1], most = lengths, most - lengths
end
return { table.concat(sizes, ','), unpack(hits) }
