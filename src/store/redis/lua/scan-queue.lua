-- Looks through a page of a queue, from its newest job on, for texts that contain something.
--
-- KEYS  1 the queue.
-- ARGV  needle, most hits, most texts, most bytes, how many are left to look at ("" at the beginning), length and
--       SHA-1 of the text that comes next.
-- Gives how many are left then, length and SHA-1 of the next text ("" at the end), how many were looked at; then of each
-- hit how many stand before it, and its text.
-- include: arguments

-- Jobs are pushed at the head and taken from the tail. So a place is told by its distance from the tail, which what is
-- pushed does not change; and what is taken, by the text that stands there.
local FEW = 16

if wrong(KEYS[1], 'list') then return redis.error_reply(unusable(KEYS[1])) end
local needle, mostHits, most, mostBytes = text(), number(), number(), number()
local left, nextLength, nextSha = number(), number(), text()

local length = redis.call('LLEN', KEYS[1])
local at = left and math.max(length - left, 0) or 0

-- What was taken meanwhile has moved the place: it is where the next text stands now. (If that has gone too, or far
-- away, some are looked at twice.)
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
local function look(page)
  for _, job in ipairs(page) do
    at, scanned, bytes, largest = at + 1, scanned + 1, bytes + #job, math.max(largest, #job)
    if string.find(job, needle, 1, true) then
      hits[#hits + 1] = tostring(length - at)
      hits[#hits + 1] = job
      if #hits / 2 >= mostHits then return end
    end
  end
end

-- The first few tell how large they are.
local step = FEW
while at < length and scanned < most and bytes < mostBytes and #hits / 2 < mostHits do
  look(redis.call('LRANGE', KEYS[1], at, at + step - 1))
  step = math.max(math.min(most - scanned, math.floor((mostBytes - bytes) / largest)), 1)
end

local job = at < length and redis.call('LINDEX', KEYS[1], at)
return {
  tostring(length - at), job and tostring(#job) or '', job and redis.sha1hex(job) or '', tostring(scanned), unpack(hits),
}
