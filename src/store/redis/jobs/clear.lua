-- Drops the jobs of a queue or a set, except those whose text contains a needle.
--
-- The script deletes the whole key when no task has an open row and no lock can be held, otherwise one page of jobs.
--
-- KEYS  1 is the queue or the set, 2 is queues, 3 is tasks, 4 is the cron entries, 5 is the locks of unique
--       jobs, 6 is the batches with open members; then the headers of all tasks, unless there are too many.
-- ARGV  are the name of the queue ("" for a set), the number of tasks (-1: too many to check), most texts, most
--       bytes, number of needles, needles.
-- Returns the number of dropped jobs, and "yes" when only kept jobs are left; then of each kept job its text, and its
-- score or the number of jobs before it.
-- include: arguments

local key, queues, tasks = KEYS[1], KEYS[2], KEYS[3]
local queue, known, most, mostBytes = text(), number(), number(), number()
local needles = {}
for i = 1, number() do needles[i] = text() end
local kind = queue == '' and 'zset' or 'list'
refuse(wrong(key, kind))
refuse(kind == 'list' and wrong(queues, 'set'))

local function isFree()
  if #needles == 0 then return true end
  -- Jobs of cron entries and unique jobs hold locks.
  if redis.call('EXISTS', KEYS[4], KEYS[5], KEYS[6]) > 0 then return false end
  if known < 0 or wrong(tasks, 'hash') or redis.call('HLEN', tasks) ~= known then return false end
  for i = 7, #KEYS do
    if wrong(KEYS[i], 'hash') then return false end
    local open = redis.call('HMGET', KEYS[i], 'enqueued', 'working')
    if open[1] ~= '0' and open[1] or open[2] ~= '0' and open[2] then return false end
  end
  return true
end

local function isKept(job)
  for _, needle in ipairs(needles) do
    if string.find(job, needle, 1, true) then return true end
  end
  return false
end

local function size()
  return redis.call(kind == 'zset' and 'ZCARD' or 'LLEN', key)
end

if isFree() then
  local removed = size()
  redis.call('UNLINK', key)
  if kind == 'list' then redis.call('SREM', queues, queue) end
  return { tostring(removed), 'yes' }
end

-- Reads the jobs that are next: at the tail of a list, at the lowest scores of a set.
local function page(from, to)
  if kind == 'zset' then return redis.call('ZRANGE', key, from, to, 'WITHSCORES') end
  local tail, flat = redis.call('LRANGE', key, -to - 1, -from - 1), {}
  for i = #tail, 1, -1 do
    flat[#flat + 1] = tail[i]
    flat[#flat + 1] = 0
  end
  return flat
end

local dropped, kept, bytes, read = {}, {}, 0, 0
local step = math.min(most, 16)
while step > 0 do
  local flat, largest = page(read, read + step - 1), 1
  for i = 1, #flat, 2 do
    local job = flat[i]
    bytes, largest = bytes + #job, math.max(largest, #job)
    if isKept(job) then
      kept[#kept + 1] = job
      kept[#kept + 1] = kind == 'zset' and flat[i + 1] or tostring(#kept / 2 - 0.5)
    else
      dropped[#dropped + 1] = job
    end
  end
  read = read + #flat / 2
  if #flat / 2 < step then break end
  step = math.min(most - read, math.floor((mostBytes - bytes) / largest))
end

if kind == 'zset' then
  for from = 1, #dropped, 1000 do redis.call('ZREM', key, unpack(dropped, from, math.min(from + 999, #dropped))) end
elseif #dropped > 0 then
  redis.call('LTRIM', key, 0, -read - 1)
  for i = #kept - 1, 1, -2 do redis.call('RPUSH', key, kept[i]) end
end
local left = size()
if left == 0 and kind == 'list' then redis.call('SREM', queues, queue) end
return { tostring(#dropped), left == #kept / 2 and 'yes' or '', unpack(kept) }
