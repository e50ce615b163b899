-- Carries out one step of a worker: reports started jobs, settles jobs, then fetches. Atomic for each job.
--
-- KEYS  1 is stat:processed, 2 is stat:failed, 3 and 4 are the same of the day, 5 is queues, 6 is leases, 7 is paused,
--       8 is the version of cancellations; then of each queue of the call its list, working, arriving and settled; then
--       the keys that items name.
-- ARGV  are, in this order:
--       - now (ms), owner, the channel for due jobs, first of the reserved tickets, wanted jobs, most bytes, size in bytes
--         of the largest text lately;
--       - number of queues, number of queues (from the first on) that are fetched from, and their names;
--       - what `readPacks` reads;
--       - of each queue: the tickets that are simply done, number of settled arrivals to forget, their tickets;
--       - number of started jobs, and the effects of each;
--       - number of groups of rows that are done alike, and of each: number of its queue, and the arguments of
--         finished-rows.lua;
--       - number of other settlements, and of each: number of its queue, "ticket" or "arrival", ticket, text of the arrival
--         or "", processed, failed, 1 and its pack if the job is kept or 0, item (moves.lua), number of items that it is
--         split into, and those.
-- Returns "fenced"; or, in this order:
--       - per queue the number of done tickets that were missing, or e when their key has the wrong type;
--       - the problems as lines, and the version of cancellations;
--       - what `fetch` returns;
--       - the answers for started jobs as one text (o ok, s superseded), and those for groups of done rows and other
--         settlements (o ok, g gone, e error).
-- include: arguments step ledger backlog closing iteration cancellations record unique batches slots sets moves finished-rows

-- Seconds: a request that is delayed for longer does nothing, because its connection is gone.
local SETTLED_SECONDS = 3600

QUEUES = KEYS[5]
now = number()
local owner, channel = text(), text()
local ticket, wanted, mostBytes, largest = number(), number(), number(), number()
local count, asked = number(), number()
local firstName = position + 1
position = position + asked
if not holdsLease(KEYS[6], owner) then return 'fenced' end

local queues = {}
for i = 1, count do
  local base = 8 + (i - 1) * 4
  queues[i] = { list = KEYS[base + 1], working = KEYS[base + 2], arriving = KEYS[base + 3], settled = KEYS[base + 4] }
end

local packs, processed, failed = readPacks(), 0, 0
local missing = {}

for i, queue in ipairs(queues) do
  local removed
  removed, missing[i] = packs.settle(i, queue.working, text())
  processed = processed + removed
  local arrivals = number()
  if arrivals > 0 then run('SREM', queue.settled, unpack(ARGV, position + 1, position + arrivals)) end
  position = position + arrivals
end

local started = {}
for i = 1, number() do
  -- A server at its memory limit allows this script, because the first write is a removal (of nothing). A server that refuses
  -- all writes makes the script fail here; a problem of an effect would not.
  if i == 1 then run('LREM', queues[1].arriving, 1, '') end
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

local settled = {}

for _ = 1, number() do
  local i, group, answer = number(), readGroup(), 'e'
  local key = wrongTask(group.base)
  local ok, ledger = not key, key and unusable(key)
  if ok then ok, ledger = pcall(ledgerOf, group.base) end
  if ok then
    local removed, lost = removeTickets(queues[i].working, group.tickets)
    -- Without tickets the call is a repeated one, or the server has lost data.
    if lost ~= 'e' then answer = removed > 0 and 'o' or 'g' end
    if answer == 'o' and missing[i] ~= 'e' then missing[i] = missing[i] + lost end
    processed = processed + removed
    if answer == 'o' and ledger then ok, ledger = pcall(finishRows, ledger, group) end
  end
  if not ok then report(messageOf(ledger)) end
  settled[#settled + 1] = answer
end

-- Removes a job from its owner. Returns a function that undoes this; or nothing, and the answer.
local function removeFromOwner(queue, source, name, arrival)
  local key = source == 'ticket' and wrong(queue.working, 'hash')
    or source == 'arrival' and (wrong(queue.arriving, 'list') or wrong(queue.settled, 'set'))
  if key then
    report(unusable(key))
    return nil, 'e'
  end
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

-- Settles one job and returns the answer. A function, because a script can't have more than 200 local variables.
local function settleOne(queue)
  local source, name, arrival = text(), text(), text()
  local counts, fails = number(), number()
  local pack = number() == 1 and packs.read()
  local items = { readItem() }
  for j = 1, number() do items[j + 1] = readItem() end
  if pack and packs.areUnusable then return 'e' end
  local answer, isMoved = move(items, removeFromOwner, queue, source, name, arrival)
  if isMoved then
    if pack then packs.add(pack) end
    processed = processed + counts
    failed = failed + fails
  end
  return answer
end

for _ = 1, number() do settled[#settled + 1] = settleOne(queues[number()]) end

-- Rows that this call lets into the queue can be fetched by it.
closeLedgers(report)
appendRecords(now)

local version = run('GET', KEYS[8]) or '0'
local function keysOf(i) return queues[i].list, queues[i].working end
local counts, more, paused, lengths, texts = fetch(asked, firstName, keysOf, ticket, wanted, mostBytes, largest, KEYS[7])

addToCounters(KEYS[1], KEYS[3], processed)
addToCounters(KEYS[2], KEYS[4], failed)
publish(channel)

return {
  table.concat(missing, ','), table.concat(problems, '\n'), version, counts, more, paused, lengths, texts,
  table.concat(started), table.concat(settled),
}
