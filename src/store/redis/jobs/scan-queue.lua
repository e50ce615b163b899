-- Searches a page of a queue for texts that contain a needle, from its newest job on or from the one that is fetched next.
--
-- KEYS  1 is the queue.
-- ARGV  are the needle, 1 if the oldest jobs come first or 0, most hits, most texts, most bytes; where the next text was
--       ("" at the beginning), its length and its SHA-1.
-- Returns where the next text is, its length and its SHA-1 ("" at the end), the number of texts searched; then of each hit
-- the number of jobs before it, and its text.
-- include: arguments

-- Jobs are pushed at the head and fetched from the tail. So the distance from the tail names a position: pushed jobs
-- do not change it. Where the next text was is the number of jobs still to search, or of those already searched when the
-- oldest come first. The text shows how many jobs were fetched since.
local FEW = 16

expect('list')
local needle, oldestFirst, mostHits, most, mostBytes = text(), number() == 1, number(), number(), number()
local left, nextLength, nextSha = number(), number(), text()

local length = redis.call('LLEN', KEYS[1])
local at = 0
if left then at = oldestFirst and left or math.max(length - left, 0) end

-- Returns `count` texts in the order of the search.
local function read(from, count)
  if not oldestFirst then return redis.call('LRANGE', KEYS[1], from, from + count - 1) end
  local page, turned = redis.call('LRANGE', KEYS[1], -from - count, -from - 1), {}
  for i = #page, 1, -1 do turned[#turned + 1] = page[i] end
  return turned
end

local function nextIn(from, count)
  for i, job in ipairs(read(from, count)) do
    if #job == nextLength and redis.sha1hex(job) == nextSha then return from + i - 1 end
  end
end

-- Jobs fetched since have moved the position to where the next text is now. If that text is gone or far away, some
-- texts are searched twice.
local function findNext()
  local from, step = at, 1
  while from < length and from - at < most do
    local found = nextIn(from, step)
    if found then return found end
    from, step = from + step, FEW
  end
  return at
end

-- When the oldest come first, they have moved the next text towards the tail. Requeued jobs have moved it away from there.
local function findNextFromTail()
  local from, step = math.min(at, length), FEW
  while at - from < most do
    local found = nextIn(from, step)
    if found then return found end
    step = math.min(FEW, from)
    if step == 0 then break end
    from = from - step
  end
  return 0
end
if nextLength then at = oldestFirst and findNextFromTail() or findNext() end

local hits, scanned, bytes, largest = {}, 0, 0, 1
local function scan(page)
  for _, job in ipairs(page) do
    at, scanned, bytes, largest = at + 1, scanned + 1, bytes + #job, math.max(largest, #job)
    if string.find(job, needle, 1, true) then
      hits[#hits + 1] = tostring(oldestFirst and at - 1 or length - at)
      hits[#hits + 1] = job
      if #hits / 2 >= mostHits then return end
    end
  end
end

-- The first texts show how large they are.
local step = FEW
while at < length and scanned < most and bytes < mostBytes and #hits / 2 < mostHits do
  scan(read(at, step))
  step = math.max(math.min(most - scanned, math.floor((mostBytes - bytes) / largest)), 1)
end

local job = at < length and read(at, 1)[1]
return {
  tostring(oldestFirst and at or length - at), job and tostring(#job) or '', job and redis.sha1hex(job) or '',
  tostring(scanned), unpack(hits),
}
