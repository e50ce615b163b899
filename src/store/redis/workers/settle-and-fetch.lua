-- Carries out one step of a worker: reports started jobs, settles jobs, then fetches. Atomic for each job.
--
-- KEYS  1 is stat:processed, 2 is stat:failed, 3 and 4 are the same of the day, 5 is queues, 6 is paused, 7 is the
--       version of cancellations; then of each queue of the call its list, working, arriving, leases and settled;
--       then the keys that items name.
-- ARGV  are now (ms), owner, the channel for due jobs, first of the reserved tickets, wanted jobs, most bytes, number
--       of queues, number of queues (from the first on) that are fetched from, and their names; of each queue: number
--       of tickets that are simply done, tickets, number of settled arrivals to forget, tickets; number of started
--       jobs, and the effects of each; number of groups of rows that are done alike, and of each: number of its
--       queue, number of tickets, tickets, rows (finished-rows.lua); number of other settlements, and of each: number
--       of its queue, "ticket" or "arrival", ticket, text of the arrival or "", processed, failed, item (moves.lua);
--       number of items that it is split into, and those.
-- Returns "fenced"; or the answers for started jobs as one text (o ok, s superseded); the answers for done rows and
-- other settlements as one text (o ok, g gone, e error); per queue the number of done tickets that were missing; per
-- queue the number of fetched jobs; the problems as lines; "more" when the rest was too large for one answer; the
-- version of cancellations; per fetched queue whether it is paused (1); then the fetched texts, in order of the
-- reserved tickets.
-- include: arguments ledger backlog closing iteration cancellations moves finished-rows

-- Seconds: a request that is delayed for longer does nothing, because its connection is gone.
local SETTLED_SECONDS = 3600

QUEUES = KEYS[5]
now = number()
local owner, channel = text(), text()
local ticket, wanted, mostBytes = number(), number(), number()
local count, asked = number(), number()
local firstName = position + 1
position = position + asked

local queues = {}
for i = 1, count do
  local base = 7 + (i - 1) * 5
  local queue = {
    list = KEYS[base + 1], working = KEYS[base + 2], arriving = KEYS[base + 3], leases = KEYS[base + 4],
    settled = KEYS[base + 5],
  }
  for field, kind in pairs({ working = 'hash', arriving = 'list', leases = 'zset', settled = 'set' }) do
    refuse(wrong(queue[field], kind))
  end
  local stamp = redis.call('ZSCORE', queue.leases, owner)
  if not stamp or tonumber(stamp) < 0 then return 'fenced' end
  queues[i] = queue
end

local processed, failed = 0, 0
local missing = {}

for i, queue in ipairs(queues) do
  local tickets = number()
  local removed = 0
  if tickets > 0 then removed = redis.call('HDEL', queue.working, unpack(ARGV, position + 1, position + tickets)) end
  position = position + tickets
  processed = processed + removed
  missing[i] = tickets - removed
  local arrivals = number()
  if arrivals > 0 then redis.call('SREM', queue.settled, unpack(ARGV, position + 1, position + arrivals)) end
  position = position + arrivals
end

local started = {}
local startedJobs = number()
-- A server at its memory limit allows this script, because the first write is a removal (of nothing).
if startedJobs > 0 then redis.call('LREM', queues[1].arriving, 1, '') end
for i = 1, startedJobs do
  started[i] = 'o'
  for _, effect in ipairs(readEffects()) do
    local problem = obstacleOf(effect)
    if problem then
      report(problem)
    elseif not applyEffect(effect) then
      started[i] = 's'
    end
  end
end

-- Removes a job from its owner. Returns a function that undoes this; or nothing, and the answer.
local function removeFromOwner(queue, source, name, arrival)
  if source == 'ticket' then
    local job = redis.call('HGET', queue.working, name)
    if not job or redis.call('HDEL', queue.working, name) == 0 then return nil, 'g' end
    return function() redis.call('HSET', queue.working, name, job) end
  end
  -- An arrival has no ticket of its own in the store. This set shows a repeated request that it was settled.
  if redis.call('SISMEMBER', queue.settled, name) == 1 then return nil, 'o' end
  if redis.call('LREM', queue.arriving, 1, arrival) == 0 then return nil, 'g' end
  redis.call('SADD', queue.settled, name)
  redis.call('EXPIRE', queue.settled, SETTLED_SECONDS)
  return function()
    redis.call('SREM', queue.settled, name)
    redis.call('LPUSH', queue.arriving, arrival)
  end
end

local settled = {}

for _ = 1, number() do
  local queue, tickets = queues[number()], number()
  local before = position
  position = position + tickets
  local group = readDone()
  local key = wrongTask(group.base)
  local ok, ledger = not key, key and unusable(key)
  if ok then ok, ledger = pcall(ledgerOf, group.base) end
  if not ok then report(messageOf(ledger)) end
  for i = 1, tickets do
    local answer = 'e'
    if ok then
      local isSettled, answered = pcall(endRow, ledger, group, i, queue.working, ARGV[before + i])
      if isSettled then answer = answered else report(messageOf(answered)) end
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
  local answer, isMoved = move(items, removeFromOwner, queue, source, name, arrival)
  if isMoved then
    processed = processed + counts
    failed = failed + fails
  end
  settled[#settled + 1] = answer
end

-- Rows that this call lets into the queue can be fetched by it.
closeLedgers(report)

-- A key that cannot be read counts as: nothing is cancelled or paused. No job is lost by that.
local function read(command, key, ...)
  local found = redis.pcall(command, key, ...)
  if type(found) == 'table' and found.err then
    report(unusable(key))
    return false
  end
  return found
end
local version = read('GET', KEYS[7]) or '0'
local paused = wanted > 0 and read('SMISMEMBER', KEYS[6], unpack(ARGV, firstName, firstName + asked - 1)) or {}

-- The first job shows how large they are: an answer of many megabytes would be late.
local fetched, texts, bytes, largest = {}, {}, 0, nil
for i, queue in ipairs(queues) do
  fetched[i] = 0
  if i > asked then break end
  if paused[i] == 1 then
    -- The jobs of a paused queue stay there.
  elseif wanted > 0 and bytes < mostBytes and wrong(queue.list, 'list') then
    report(unusable(queue.list))
  else
    while wanted > 0 and bytes < mostBytes do
      local step = largest and math.max(math.min(wanted, 50, math.floor((mostBytes - bytes) / largest)), 1) or 1
      local some = redis.call('RPOP', queue.list, step)
      if not some then break end
      local tickets = {}
      for j, job in ipairs(some) do
        tickets[j * 2 - 1] = string.format('%d', ticket)
        tickets[j * 2] = job
        texts[#texts + 1] = job
        bytes = bytes + #job
        largest = math.max(largest or 1, #job)
        ticket = ticket + 1
      end
      redis.call('HSET', queue.working, unpack(tickets))
      fetched[i] = fetched[i] + #some
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
      report(key .. ' does not count: ' .. sum.err)
    elseif key == day and sum == n then
      redis.call('EXPIRE', key, 157680000)
    end
  end
end
add(KEYS[1], KEYS[3], processed)
add(KEYS[2], KEYS[4], failed)
publish(channel)

return {
  table.concat(started), table.concat(settled), table.concat(missing, ','), table.concat(fetched, ','),
  table.concat(problems, '\n'), wanted > 0 and bytes >= mostBytes and 'more' or '', version, table.concat(paused),
  unpack(texts),
}
