-- Searches a page of a queue, from its newest job on, for texts that contain a needle.
--
-- KEYS  1 is the queue.
-- ARGV  are the needle, most hits, most texts, most bytes, the number of jobs still to search ("" at the beginning),
--       length and SHA-1 of the next text.
-- Returns the number of jobs still to search, length and SHA-1 of the next text ("" at the end), the number of texts
-- searched; then of each hit the number of jobs before it, and its text.
-- include: arguments

-- Jobs are pushed at the head and fetched from the tail. So the distance from the tail names a position: pushed jobs
-- do not change it. The text at the position shows how many jobs were fetched since.
local FEW = 16

expect('list')
local needle, mostHits, most, mostBytes = text(), number(), number(), number()
local left, nextLength, nextSha = number(), number(), text()

local length = redis.call('LLEN', KEYS[1])
local at = left and math.max(length - left, 0) or 0

-- Jobs fetched since have moved the position to where the next text is now. If that text is gone or far away, some
-- texts are searched twice.
local function findNext()
  local from, step = at, 1
  while from < length and from - at < most do
    for i, job in ipairs(redis.call('LRANGE', KEYS[1], from, from + step - 1)) do
      if #job == nextLength and redis.sha1hex(job) == nextSha then return from + i - 1 end
    end
    from, step = from + step, FEW
  end
  return at
end
if nextLength then at = findNext() end

local hits, scanned, bytes, largest = {}, 0, 0, 1
local function scan(page)
  for _, job in ipairs(page) do
    at, scanned, bytes, largest = at + 1, scanned + 1, bytes + #job, math.max(largest, #job)
    if string.find(job, needle, 1, true) then
      hits[#hits + 1] = tostring(length - at)
      hits[#hits + 1] = job
      if #hits / 2 >= mostHits then return end
    end
  end
end

-- The first texts show how large they are.
local step = FEW
while at < length and scanned < most and bytes < mostBytes and #hits / 2 < mostHits do
  scan(redis.call('LRANGE', KEYS[1], at, at + step - 1))
  step = math.max(math.min(most - scanned, math.floor((mostBytes - bytes) / largest)), 1)
end

local job = at < length and redis.call('LINDEX', KEYS[1], at)
return {
  tostring(length - at), job and tostring(#job) or '', job and redis.sha1hex(job) or '', tostring(scanned), unpack(hits),
}
