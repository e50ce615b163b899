-- Drops what is in a queue or a set: all of it when no task has an open row and nothing has a lock, else a page, without
-- what is marked.
--
-- KEYS  1 the queue or the set, 2 queues, 3 the tasks, 4 the cron entries; then the headers of all tasks, if there are
--       not too many.
-- ARGV  name of the queue ("" for a set), how many tasks there are (-1: too many to look at), most texts, most bytes,
--       number of marks, marks.
-- Gives how many were dropped, whether nothing unmarked is left; then of each marked one that was met its text, and
-- its score or how many stand before it.
-- include: arguments

local key, queues, tasks, crons = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local queue, known, most, mostBytes = text(), number(), number(), number()
local marks = {}
for i = 1, number() do marks[i] = text() end
local kind = queue == '' and 'zset' or 'list'
if wrong(key, kind) then return redis.error_reply(unusable(key)) end
if kind == 'list' and wrong(queues, 'set') then return redis.error_reply(unusable(queues)) end

local function isFree()
  if #marks == 0 then return true end
  -- Only their jobs have locks.
  if redis.call('EXISTS', crons) == 1 then return false end
  if known < 0 or wrong(tasks, 'hash') or redis.call('HLEN', tasks) ~= known then return false end
  for i = 5, #KEYS do
    if wrong(KEYS[i], 'hash') then return false end
    local open = redis.call('HMGET', KEYS[i], 'enqueued', 'working')
    if open[1] ~= '0' and open[1] or open[2] ~= '0' and open[2] then return false end
  end
  return true
end

local function isMarked(job)
  for _, mark in ipairs(marks) do
    if string.find(job, mark, 1, true) then return true end
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

-- Those first that are next: at the tail of a list, at the lowest scores of a set.
local function page(from, to)
  if kind == 'zset' then return redis.call('ZRANGE', key, from, to, 'WITHSCORES') end
  local tail, flat = redis.call('LRANGE', key, -to - 1, -from - 1), {}
  for i = #tail, 1, -1 do
    flat[#flat + 1] = tail[i]
    flat[#flat + 1] = 0
  end
  return flat
end

local doomed, marked, bytes, looked = {}, {}, 0, 0
local step = math.min(most, 16)
while step > 0 do
  local flat, largest = page(looked, looked + step - 1), 1
  for i = 1, #flat, 2 do
    local job = flat[i]
    bytes, largest = bytes + #job, math.max(largest, #job)
    if isMarked(job) then
      marked[#marked + 1] = job
      marked[#marked + 1] = kind == 'zset' and flat[i + 1] or tostring(#marked / 2 - 0.5)
    else
      doomed[#doomed + 1] = job
    end
  end
  looked = looked + #flat / 2
  if #flat / 2 < step then break end
  step = math.min(most - looked, math.floor((mostBytes - bytes) / largest))
end

if kind == 'zset' then
  for from = 1, #doomed, 1000 do redis.call('ZREM', key, unpack(doomed, from, math.min(from + 999, #doomed))) end
elseif #doomed > 0 then
  redis.call('LTRIM', key, 0, -looked - 1)
  for i = #marked - 1, 1, -2 do redis.call('RPUSH', key, marked[i]) end
end
local left = size()
if left == 0 and kind == 'list' then redis.call('SREM', queues, queue) end
return { tostring(#doomed), left == #marked / 2 and 'yes' or '', unpack(marked) }
