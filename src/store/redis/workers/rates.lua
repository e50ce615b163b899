-- Limits: their numbers, slots and rates. Times are microseconds by the server.
--
-- The numbers of a limit are a text: slots (0: any number), starts (0: any number), the period of the starts in ms,
-- burst, and window (smooth, fixed or sliding).
--
-- The state of a rate is a text. Of a smooth rate it begins with the time from which on the rate has its whole burst
-- again; of a window, with two numbers for each bucket: the time of its first start, and how many starts it has. A time
-- that is later than the rate allows is replaced by the latest one allowed. It is then saved at once, else each later
-- read would replace it again. Such a time was stored before the clock was set back, or when the rate was slower.
--
-- When a rate has room, waiting jobs move to their queues. These moved jobs keep their room until they start, at most
-- for SLOT_CHECK. A check at another time than planned ends this, too, because a moved job may have ended without a
-- start. The state ends with the word `called` and three numbers for the moved jobs: how many have not started, until
-- when they count, and the time of the next check.

-- START_AHEAD_MS, SLOT_CHECK_MS, LONGEST_CHECK_MS, SHORTEST_CHECK_MS and SLIDING_BUCKETS of the contract.
local AHEAD, SLOT_CHECK, LONGEST_CHECK, SHORTEST_CHECK, BUCKETS = 20000, 5000000, 60000000, 10000, 100

local serverTime = redis.call('TIME')
local micros = tonumber(serverTime[1]) * 1000000 + tonumber(serverTime[2])

local function parseLimit(name, spec)
  local max, count, per, burst, window = string.match(spec, '^(%d+) (%d+) (%d+) (%d+) (%l+)$')
  return {
    name = name, spec = spec, max = tonumber(max) or 0, count = tonumber(count) or 0, per = (tonumber(per) or 0) * 1000,
    burst = tonumber(burst) or 0, window = window,
  }
end

-- Gives limits the numbers that were set, which are a text: slots, starts, period and burst, each a number or -. A limit keeps its
-- `spec`, which is that of the code. Numbers are set for the name without a key (Limit.name of the contract).
local function applySet(limits, key)
  if #limits == 0 or redis.call('EXISTS', key) == 0 then return end
  local names = {}
  for i, limit in ipairs(limits) do names[i] = string.match(limit.name, '^%l+:[^:]*') or limit.name end
  for i, set in ipairs(redis.call('HMGET', key, unpack(names))) do
    if set then
      local limit = limits[i]
      local max, count, per, burst = string.match(set, '^(%S+) (%S+) (%S+) (%S+)$')
      limit.set, limit.max, limit.count = set, tonumber(max) or limit.max, tonumber(count) or limit.count
      limit.per, limit.burst = tonumber(per) and tonumber(per) * 1000 or limit.per, tonumber(burst) or limit.burst
    end
  end
end

-- Releases the slots of owners without a lease if all slots are used, and returns the number of free slots.
local function freeSlots(limit, leases)
  if limit.max == 0 then return math.huge end
  limit.free = limit.free or limit.max - redis.call('ZCARD', limit.slots)
  if limit.free <= 0 and not limit.swept then
    limit.swept = true
    limit.free = limit.free + releaseOrphanedSlots(limit.slots, leases)
  end
  return math.max(limit.free, 0)
end

-- Reads the rate of a limit once.
local function openRate(limit)
  if limit.opened then return end
  limit.opened = true
  local numbers, state = {}, redis.call('GET', limit.rate) or ''
  for n in string.gmatch(string.match(state, '^[%d ]*'), '%d+') do numbers[#numbers + 1] = tonumber(n) end
  local moved, countUntil, checkAt = string.match(state, 'called (%d+) (%d+) (%d+)$')
  limit.moved, limit.countUntil, limit.checkAt = tonumber(moved) or 0, tonumber(countUntil) or 0, tonumber(checkAt)
  -- A time that is too far ahead is from before the clock was set back.
  if limit.countUntil <= micros or limit.countUntil > micros + SLOT_CHECK then limit.moved = 0 end
  if limit.window == 'smooth' then
    limit.interval = limit.per / limit.count
    limit.tolerance = (limit.burst - 1) * limit.interval
    -- The place of the next start in the sequence of evenly spaced starts.
    local place, last = numbers[1] or 0, micros + AHEAD + limit.burst * limit.interval
    limit.position = math.max(math.min(place, last), micros)
    limit.changed = place > math.ceil(last)
    return
  end
  local isFixed = limit.window == 'fixed'
  limit.width = isFixed and limit.per or math.ceil(limit.per / BUCKETS)
  limit.span = isFixed and limit.per or limit.per + limit.width
  limit.buckets, limit.used = {}, 0
  for i = 1, #numbers - 1, 2 do
    local first = math.min(numbers[i], micros + AHEAD)
    if first + limit.span > micros then
      limit.changed = limit.changed or first ~= numbers[i]
      limit.buckets[#limit.buckets + 1] = { first, numbers[i + 1] }
      limit.used = limit.used + numbers[i + 1]
    end
  end
end

-- Returns how many attempts may start by the end of AHEAD.
local function rateRoom(limit)
  if limit.count == 0 then return math.huge end
  openRate(limit)
  if limit.buckets then return math.max(limit.count - limit.used, 0) end
  local ahead = micros + AHEAD + limit.tolerance - limit.position
  return ahead < 0 and 0 or math.floor(ahead / limit.interval) + 1
end

-- Returns when so many attempts have room.
local function timeOfRoom(limit, n)
  if not limit.buckets then return limit.position + (n - 1) * limit.interval - limit.tolerance - AHEAD end
  local room = limit.count - limit.used
  if room >= n then return micros end
  for _, bucket in ipairs(limit.buckets) do
    room = room + bucket[2]
    if room >= n then return bucket[1] + limit.span end
  end
  -- The jobs that start now have used their room until then.
  return micros + limit.span
end

-- Returns how many waiting jobs have room beside the moved ones. `checkAt`: the time for which this check was planned.
local function roomOfWaiting(limit, checkAt)
  local room = rateRoom(limit)
  if limit.count == 0 then return room end
  if checkAt ~= limit.checkAt then limit.moved = 0 end
  return math.max(room - limit.moved, 0)
end

-- Counts n more waiting jobs as moved. Returns the time at which another one may have room.
local function addMoved(limit, n)
  limit.moved, limit.changed = limit.moved + n, true
  if n > 0 then limit.countUntil = micros + SLOT_CHECK end
  local next = timeOfRoom(limit, limit.moved + 1)
  return limit.moved > 0 and math.min(next, limit.countUntil) or next
end

-- Returns the microseconds until the rate has room; 0: it has.
local function timeUntilStart(limit)
  return rateRoom(limit) > 0 and 0 or math.max(timeOfRoom(limit, 1) - micros, 1000)
end

-- Returns the earliest time of the next start.
local function earliestStart(limit)
  return limit.position and math.max(limit.position - limit.tolerance, micros) or micros
end

-- Gives out one start at a time, which is not before the earliest one and at most AHEAD ahead.
local function reserveStart(limit, at)
  if limit.count == 0 then return end
  limit.changed, limit.moved = true, math.max(limit.moved - 1, 0)
  if not limit.buckets then
    limit.position = math.max(limit.position, at) + limit.interval
    return
  end
  local last = limit.buckets[#limit.buckets]
  if last and at < last[1] + limit.width then
    last[2] = last[2] + 1
  else
    limit.buckets[#limit.buckets + 1] = { at, 1 }
  end
  limit.used = limit.used + 1
end

local function saveRate(limit)
  if not limit.changed then return end
  local state, ends = {}, limit.position
  if limit.buckets then
    for i, bucket in ipairs(limit.buckets) do state[i] = string.format('%d %d', bucket[1], bucket[2]) end
    local last = limit.buckets[#limit.buckets]
    ends = (last and last[1] or micros) + limit.span
  else
    state[1] = string.format('%d', math.ceil(ends))
  end
  if limit.moved > 0 then
    state[#state + 1] = string.format('called %d %d %d', limit.moved, limit.countUntil, limit.checkAt or 0)
    ends = math.max(ends, limit.countUntil)
  end
  redis.call('SET', limit.rate, table.concat(state, ' '), 'PX', math.max(math.ceil((ends - micros) / 1000), 1))
end
