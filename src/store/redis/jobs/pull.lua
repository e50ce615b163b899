-- Removes jobs from any position of a queue, and moves or drops them. Atomic for each job; of equal texts only one
-- goes.
--
-- KEYS  1 is queues, 2 is the queue; then the keys that items name.
-- ARGV  begin as in moves-open.lua; then come the most texts to pass, number of jobs; of each: text, about how many
--       jobs are before it or "", item (moves.lua).
-- Returns the answers as one text (o ok, g gone, f too far away for this script, e error), for at least one job and
-- as many as there was time for; and the problems as lines.
-- include: arguments ledger backlog closing iteration cancellations record unique batches slots sets moves moves-open

-- No command removes an element of a list by its index. Elements are overwritten with this text, and then all of them
-- are removed in one pass. No other client ever sees it.
local GONE = 'hk:gone'
-- Reading at an index costs about this many times less than comparing every text on the way.
local STRIDE = 20
-- The search covers this many texts towards the tail: jobs fetched since have moved the job there.
local NEAR = 1000
-- The search also covers this many texts towards the head: jobs put back to the front have moved it there.
local PUT_BACK = 500
-- A longer search would block the server.
local REACH = 100000

local queue = KEYS[2]
local most, count = number(), number()
refuse(wrong(queue, 'list'))

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
  -- In a long queue the search does not go beyond the index that the caller knows.
  local most = length <= REACH and length or math.min(before and before + PUT_BACK or length, length)
  passed = passed + math.min(most, REACH)
  local index = redis.call('LPOS', queue, job, 'RANK', -1, 'MAXLEN', math.min(most, REACH))
  return index or nil, most <= REACH
end

local gone, first, last = 0, length, 0

-- A server at its memory limit allows this script, because the first write is a removal (of nothing).
redis.pcall('SREM', QUEUES, '')
local answers = {}
for i = 1, count do
  if passed > most then break end
  local job, before, item = text(), number(), readItem()
  -- A job that moves to the back of this queue shifts all indexes.
  local function shift() return item.kind == 'b' and redis.call('LLEN', queue) - length or 0 end
  local index, isCertain, isMoved
  answers[i], isMoved = move({ item }, function()
    index, isCertain = find(job, before)
    if not index then return nil, isCertain and 'g' or 'f' end
    redis.call('LSET', queue, index, item.kind == 's' and item.text or GONE)
    return function() redis.call('LSET', queue, index + shift(), job) end
  end)
  if index then
    local shifted = shift()
    length, first, last = redis.call('LLEN', queue), first + shifted, last + shifted
    if isMoved and item.kind ~= 's' then
      gone, first, last = gone + 1, math.min(first, index + shifted), math.max(last, index + shifted)
    end
  end
end
if gone > 0 then redis.call('LREM', queue, last < length - first and gone or -gone, GONE) end
finish(channel, report)
return { table.concat(answers), table.concat(problems, '\n') }
