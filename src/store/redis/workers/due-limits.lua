-- Returns the limits whose waiting jobs have room, and plans when to check them again.
--
-- KEYS  1 is leases, 2 is limits, 3 is limit-checks, 4 is limited-queues, 5 is set-limits.
-- ARGV  are the most limits, and the beginnings of the keys of slots, of rates and of waiting jobs.
-- Returns the microseconds until the next check, or "" when no job waits; then of each limit its name and its room.
-- include: arguments slots rates

local most, slotsOf, rateOf, waitingOf = number(), text(), text(), text()
expect('zset', 'hash', 'zset')
refuse(wrong(KEYS[5], 'hash'))
if redis.call('EXISTS', KEYS[3], KEYS[4]) == 0 then return { '' } end
if redis.call('EXISTS', KEYS[3]) == 0 then
  -- No job waits, so what another program has left in the counts is wrong.
  redis.call('UNLINK', KEYS[4])
  return { '' }
end
removeNothing('ZREM', KEYS[3])
local answer = { '' }
-- No check is planned that far ahead: the clock was set back since these were planned.
local tooLate = string.format('(%d', micros + LONGEST_CHECK)
local names = redis.call('ZRANGEBYSCORE', KEYS[3], tooLate, '+inf', 'LIMIT', 0, most)
for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', micros, 'LIMIT', 0, most - #names)) do
  names[#names + 1] = name
end

-- Returns how many of the waiting jobs have room, and the time of the next check. `checkAt` is the time of this one.
local function check(limit, waiting, checkAt)
  local free, room = freeSlots(limit, KEYS[1]), roomOfWaiting(limit, checkAt)
  local n = math.min(free, room, waiting)
  -- Without a free slot the next one that is freed ends the wait.
  local at = micros + (n == free and n < waiting and SLOT_CHECK or SHORTEST_CHECK)
  if limit.count > 0 then
    local next = addMoved(limit, n)
    if n == room then at = math.max(at, next) end
  end
  limit.checkAt = math.ceil(math.min(at, micros + LONGEST_CHECK))
  return n, limit.checkAt
end

local limits = {}
for i, name in ipairs(names) do limits[i] = parseLimit(name, redis.call('HGET', KEYS[2], name) or '') end
applySet(limits, KEYS[5])

for _, limit in ipairs(limits) do
  local name = limit.name
  limit.slots, limit.rate = slotsOf .. name, rateOf .. name
  local waiting = waitingOf .. name
  local isSound = not (wrong(limit.slots, 'zset') or wrong(limit.rate, 'string') or wrong(waiting, 'zset'))
  local size = isSound and redis.call('ZCARD', waiting) or 0
  if size == 0 then
    redis.call('ZREM', KEYS[3], name)
    if not isSound or redis.call('ZCARD', limit.slots) == 0 then redis.call('HDEL', KEYS[2], name) end
  else
    local n, at = check(limit, size, tonumber(redis.call('ZSCORE', KEYS[3], name)))
    saveRate(limit)
    redis.call('ZADD', KEYS[3], string.format('%d', at), name)
    if n > 0 then
      answer[#answer + 1] = name
      answer[#answer + 1] = n
    end
  end
end

local first = redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')
if first[2] then answer[1] = string.format('%d', math.max(tonumber(first[2]) - micros, 0)) end
return answer
