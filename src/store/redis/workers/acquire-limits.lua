-- Takes for each attempt a slot and a start of all its limits, or nothing.
--
-- KEYS  1 is leases, 2 is the owner, 3 is limits, 4 is limit-checks, 5 is set-limits; then of each limit its slots and its rate.
-- ARGV  are the channel for due jobs, the owner, the number of this call, the number of limits, and of each its name and its
--       numbers (rates.lua); the number of attempts, and of each its ticket, the number of its limits, and their positions.
-- Returns of each attempt the position of the limit that has no room, or 0, and the microseconds until its start, or until there
-- is room; then of each limit its slots (0: any number). A call that was voided, or whose owner has no lease, takes nothing.
-- include: arguments slots rates

local channel, owner, call = text(), text(), number()
expect('zset', 'hash', 'hash', 'zset', 'hash')
local limits, answers, mustCheck = {}, {}, false
for i = 1, number() do
  local limit = parseLimit(text(), text())
  limit.slots, limit.rate = KEYS[2 * i + 4], KEYS[2 * i + 5]
  refuse(wrong(limit.slots, 'zset') or wrong(limit.rate, 'string'))
  limits[i] = limit
end
applySet(limits, KEYS[5])

local stamp = tonumber(redis.call('ZSCORE', KEYS[1], owner) or nil)
local isValid = stamp and stamp >= 0 and call > tonumber(redis.call('HGET', KEYS[2], 'voided') or 0)

removeNothing('ZREM', KEYS[4])

-- A deploy may have changed a limit that jobs wait for.
for _, limit in ipairs(limits) do
  local known = isValid and redis.call('HGET', KEYS[3], limit.name)
  if known and known ~= limit.spec then
    redis.call('HSET', KEYS[3], limit.name, limit.spec)
    mustCheck = checkNow(KEYS[4], limit.name) or mustCheck
  end
end

local function timeUntilRoom(limit, holder)
  if freeSlots(limit, KEYS[1]) == 0 and not redis.call('ZSCORE', limit.slots, holder) then return SLOT_CHECK end
  return timeUntilStart(limit)
end

local function takeAll(own, holder)
  local start = micros
  for _, limit in ipairs(own) do
    if limit.max > 0 and redis.call('ZADD', limit.slots, 0, holder) == 1 then
      limit.free = limit.free - 1
      redis.call('HSET', KEYS[3], limit.name, limit.spec)
    end
    start = math.max(start, earliestStart(limit))
  end
  for _, limit in ipairs(own) do reserveStart(limit, start) end
  return start - micros
end

for i = 1, number() do
  local holder, own, over, time = owner .. ' ' .. text(), {}, 0, 0
  for j = 1, number() do own[j] = limits[number()] end
  for j, limit in ipairs(own) do
    if over == 0 then
      time = isValid and timeUntilRoom(limit, holder) or 1000
      if time > 0 then over = j end
    end
  end
  if over == 0 then
    time = takeAll(own, holder)
  elseif isValid then
    -- If this job has moved because another of its limits had room, the next one that waits there may have the room.
    for j, limit in ipairs(own) do
      if j ~= over then mustCheck = checkNow(KEYS[4], limit.name) or mustCheck end
    end
  end
  answers[2 * i - 1], answers[2 * i] = over, math.ceil(time)
end

for _, limit in ipairs(limits) do
  saveRate(limit)
  answers[#answers + 1] = limit.max
end
if mustCheck then redis.pcall('PUBLISH', channel, '') end
return answers
