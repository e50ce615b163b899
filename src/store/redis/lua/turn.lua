-- One step of a worker: tells what began, settles what ended, takes what comes next. Atomic per job.
--
-- KEYS  1 stat:processed, 2 stat:failed, 3 and 4 the same of the day, 5 queues, 6 paused, 7 marks; then of each queue of the call its list,
--       working, arriving, leases and settled; then the keys that items name.
-- ARGV  now (ms), owner, wake channel, first ticket of those reserved, jobs wanted, most bytes, number of queues, and of
--       those (from the first) that are asked for jobs, and their names;
--       of each queue: number of tickets that are simply done, tickets, number of marks to forget, tickets;
--       number of beginnings, and the effects of each;
--       number of groups of rows that are done alike, and of each: which queue, number of tickets, tickets, rows (done.lua);
--       number of other ends, and of each: which queue, "ticket" | "arrival", ticket, text of the arrival or "",
--       processed, failed, item (moves.lua); number of items that it falls apart into, and those.
-- Gives "fenced"; or: answers to beginnings (o ok, s superseded) as one text; answers to rows that are done and to other
--       ends (o ok, g gone, e error) as one text; per queue how many of the done were not there; per queue how many were taken; what was
--       wrong, as lines; "more" when the rest was too large for one answer; version of the marks; per queue asked
--       whether it is paused (1); then the texts taken, in order, under the tickets reserved.
-- include: arguments ledger waiting closing iteration clock marks moves done

-- A request that was held up on its way for longer does nothing any more: its connection is gone.
local MARKED_SECONDS = 3600

QUEUES = KEYS[5]
now = number()
local owner, channel = text(), text()
local ticket, wanted, mostBytes = number(), number(), number()
local count, asked = number(), number()
local firstName = cursor + 1
cursor = cursor + asked

local wrongs = {}
local function tell(line)
  if not wrongs[line] then
    wrongs[line] = true
    wrongs[#wrongs + 1] = line
  end
end

local queues = {}
for i = 1, count do
  local base = 7 + (i - 1) * 5
  local queue = {
    list = KEYS[base + 1], working = KEYS[base + 2], arriving = KEYS[base + 3], leases = KEYS[base + 4],
    settled = KEYS[base + 5],
  }
  for field, kind in pairs({ working = 'hash', arriving = 'list', leases = 'zset', settled = 'set' }) do
    if wrong(queue[field], kind) then return redis.error_reply(unusable(queue[field])) end
  end
  local ends = redis.call('ZSCORE', queue.leases, owner)
  if not ends or tonumber(ends) < 0 then return 'fenced' end
  queues[i] = queue
end

local processed, failed = 0, 0
local missing = {}

for i, queue in ipairs(queues) do
  local tickets = number()
  local removed = 0
  if tickets > 0 then removed = redis.call('HDEL', queue.working, unpack(ARGV, cursor + 1, cursor + tickets)) end
  cursor = cursor + tickets
  processed = processed + removed
  missing[i] = tickets - removed
  local marks = number()
  if marks > 0 then redis.call('SREM', queue.settled, unpack(ARGV, cursor + 1, cursor + marks)) end
  cursor = cursor + marks
end

local started = {}
local beginnings = number()
-- At its memory limit the server refuses a script whose first write may grow: this one removes nothing.
if beginnings > 0 then redis.call('LREM', queues[1].arriving, 1, '') end
for i = 1, beginnings do
  started[i] = 'o'
  for _, effect in ipairs(readEffects()) do
    local line = obstacleOf(effect)
    if line then
      tell(line)
    elseif not takeEffect(effect) then
      started[i] = 's'
    end
  end
end

-- Takes a job from its owner; answers what puts it back, or why it can't be settled.
local function release(queue, source, name, arrival)
  if source == 'ticket' then
    local held = redis.call('HGET', queue.working, name)
    if not held or redis.call('HDEL', queue.working, name) == 0 then return nil, 'g' end
    return function() redis.call('HSET', queue.working, name, held) end
  end
  -- An arrival has no ticket of its own in the store: the mark says that it was settled, should we be asked again.
  if redis.call('SISMEMBER', queue.settled, name) == 1 then return nil, 'o' end
  if redis.call('LREM', queue.arriving, 1, arrival) == 0 then return nil, 'g' end
  redis.call('SADD', queue.settled, name)
  redis.call('EXPIRE', queue.settled, MARKED_SECONDS)
  return function()
    redis.call('SREM', queue.settled, name)
    redis.call('LPUSH', queue.arriving, arrival)
  end
end

local settled = {}

for _ = 1, number() do
  local queue, tickets = queues[number()], number()
  local before = cursor
  cursor = cursor + tickets
  local group = readDone()
  local key = wrongTask(group.base)
  local ok, book = not key, key and unusable(key)
  if ok then ok, book = pcall(bookOf, group.base) end
  if not ok then tell(lineOf(book)) end
  for i = 1, tickets do
    local answer = 'e'
    if ok then
      local isSettled, told = pcall(endRow, book, group, i, queue.working, ARGV[before + i])
      if isSettled then answer = told else tell(lineOf(told)) end
    end
    if answer == 'o' then processed = processed + 1 end
    settled[#settled + 1] = answer
  end
end

for _ = 1, number() do
  local queue, source, name, arrival = queues[number()], text(), text(), text()
  local counts, fails = number(), number()
  local items = { readItem() }
  for j = 1, number() do items[j + 1] = readItem() end
  -- One that can't go its way keeps all of them here.
  local line
  for _, item in ipairs(items) do line = line or obstacle(item) end
  if line then
    tell(line)
    settled[#settled + 1] = 'e'
  else
    local putBack, answer = release(queue, source, name, arrival)
    if putBack then
      local ok, err = pcall(applyAll, items)
      if ok then
        answer = 'o'
        processed = processed + counts
        failed = failed + fails
      else
        putBack()
        tell(lineOf(err))
        answer = 'e'
      end
    end
    settled[#settled + 1] = answer
  end
end

-- What this call freed comes in before it takes.
closeBooks(tell)

-- No jobs are lost by what can't be read here: nothing is marked or paused then.
local function read(command, key, ...)
  local found = redis.pcall(command, key, ...)
  if type(found) == 'table' and found.err then
    tell(unusable(key))
    return false
  end
  return found
end
local marks = read('GET', KEYS[7]) or '0'
local paused = wanted > 0 and read('SMISMEMBER', KEYS[6], unpack(ARGV, firstName, firstName + asked - 1)) or {}

-- The first one tells how large they are: an answer of many megabytes would be late.
local taken, texts, bytes, largest = {}, {}, 0, nil
for i, queue in ipairs(queues) do
  taken[i] = 0
  if i > asked then break end
  if paused[i] == 1 then
    -- Its jobs stay where they are.
  elseif wanted > 0 and bytes < mostBytes and wrong(queue.list, 'list') then
    tell(unusable(queue.list))
  else
    while wanted > 0 and bytes < mostBytes do
      local step = largest and math.max(math.min(wanted, 50, math.floor((mostBytes - bytes) / largest)), 1) or 1
      local some = redis.call('RPOP', queue.list, step)
      if not some then break end
      local handed = {}
      for j, job in ipairs(some) do
        handed[j * 2 - 1] = string.format('%d', ticket)
        handed[j * 2] = job
        texts[#texts + 1] = job
        bytes = bytes + #job
        largest = math.max(largest or 1, #job)
        ticket = ticket + 1
      end
      redis.call('HSET', queue.working, unpack(handed))
      taken[i] = taken[i] + #some
      wanted = wanted - #some
      if #some < step then break end
    end
  end
end

local function add(total, day, n)
  if n == 0 then return end
  for _, key in ipairs({ total, day }) do
    local sum = redis.pcall('INCRBY', key, n)
    if type(sum) == 'table' then
      tell(key .. ' does not count: ' .. sum.err)
    elseif key == day and sum == n then
      redis.call('EXPIRE', key, 157680000)
    end
  end
end
add(KEYS[1], KEYS[3], processed)
add(KEYS[2], KEYS[4], failed)
publish(channel)

return {
  table.concat(started), table.concat(settled), table.concat(missing, ','), table.concat(taken, ','),
  table.concat(wrongs, '\n'), wanted > 0 and bytes >= mostBytes and 'more' or '', marks, table.concat(paused),
  unpack(texts),
}
