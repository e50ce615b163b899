-- Takes jobs out of a queue, wherever they stand, and moves or drops them. Atomic per job, and one of twins only.
--
-- KEYS  1 the queue, 2 queues; then the keys that items name.
-- ARGV  now (ms), wake channel, most texts to pass by, number of jobs; of each: text, about how many stand before it or
--       "", item (moves.lua).
-- Gives answers as one text (o ok, g gone, f too far away to be found here, e error) of as many of the jobs as there was
-- time for, at least one; and what was wrong, as lines.
-- include: arguments ledger waiting closing iteration clock marks moves

-- A list has no command that removes what stands at a place: what goes is first written over, then all of that is
-- removed in one pass. Nobody else ever sees it.
local GONE = 'hk:gone'
-- Going to a place is so much cheaper than comparing every text on the way.
local STRIDE = 20
-- What was taken since has moved a job towards the tail: it is looked for so far.
local NEAR = 1000
-- Jobs that were put back to the front moved it the other way.
local PUT_BACK = 500
-- A longer search would block the server.
local REACH = 100000

local queue = KEYS[1]
QUEUES = KEYS[2]
now = number()
local channel, most, count = text(), number(), number()
if wrong(queue, 'list') then return redis.error_reply(unusable(queue)) end

local length = redis.call('LLEN', queue)
local passed = 0

-- Returns the index of a text; or nil, and whether the text is certainly not there.
local function find(job, before)
  local from = before and length - 1 - before
  if from and from >= 0 and from < length then
    passed = passed + math.min(before, from) / STRIDE + 1
    if redis.call('LINDEX', queue, from) == job then return from end
    passed = passed + math.min(before, from) / STRIDE + NEAR
    for i, one in ipairs(redis.call('LRANGE', queue, from + 1, from + NEAR)) do
      if one == job then return from + i end
    end
  end
  -- In a long queue the script does not search behind the place that the caller knows.
  local most = length <= REACH and length or math.min(before and before + PUT_BACK or length, length)
  passed = passed + math.min(most, REACH)
  local index = redis.call('LPOS', queue, job, 'RANK', -1, 'MAXLEN', math.min(most, REACH))
  return index or nil, most <= REACH
end

local gone, first, last = 0, length, 0

-- At its memory limit the server refuses a script whose first write may grow: this one removes nothing.
redis.pcall('SREM', QUEUES, '')
local answers, wrongs = {}, {}
for i = 1, count do
  if passed > most then break end
  local job, before, item = text(), number(), readItem()
  local line = obstacle(item)
  local index, isCertain
  if not line then index, isCertain = find(job, before) end
  if line then
    wrongs[#wrongs + 1] = line
    answers[i] = 'e'
  elseif not index then
    answers[i] = isCertain and 'g' or 'f'
  else
    redis.call('LSET', queue, index, GONE)
    local ok, err = pcall(apply, item)
    -- One that moves within this queue shifts the others, if it goes to the back.
    local grown = redis.call('LLEN', queue) - length
    length = length + grown
    local shift = item.kind == 'b' and grown or 0
    first, last = first + shift, last + shift
    if ok then
      gone, first, last = gone + 1, math.min(first, index + shift), math.max(last, index + shift)
      answers[i] = 'o'
    else
      redis.call('LSET', queue, index + shift, job)
      wrongs[#wrongs + 1] = lineOf(err)
      answers[i] = 'e'
    end
  end
end
if gone > 0 then redis.call('LREM', queue, last < length - first and gone or -gone, GONE) end
finish(channel, function(line) wrongs[#wrongs + 1] = line end)
return { table.concat(answers), table.concat(wrongs, '\n') }
