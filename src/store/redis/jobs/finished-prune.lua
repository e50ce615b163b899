-- Removes the oldest finished jobs that are too many or too old. Those of the set are older than those of packs.
--
-- KEYS  are those of finished-packs.lua.
-- ARGV  are the most jobs that stay, the lowest score that stays, the most entries of the set to remove.
-- Returns 1 if there may be more to remove.
-- include: arguments finished-packs

-- One call removes at most this many packs because of their age.
local MAX_OLD_PACKS = 100

expect('zset', 'stream', 'string')
local most, since, limit = number(), number(), number()

-- Removes entries of the set. Returns how many it removed, and how many are left.
local function removeEntries()
  local size = redis.call('ZCARD', KEYS[1])
  local excess = size + packedFrom(packAfter(0)) - most
  local old = redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. ARGV[2])
  local removed = math.min(math.max(excess, old), size, limit)
  if removed <= 0 then return 0, size end
  return redis.call('ZREMRANGEBYRANK', KEYS[1], 0, removed - 1), size - removed
end

local function hasOld(pack)
  for score in string.gmatch(pack.scores, '([^ ,]+) ') do
    if tonumber(score) < since then return true end
  end
  return false
end

local removed, left = removeEntries()
if left > 0 then return removed == limit and 1 or 0 end

local oldest = packAfter(0)
local excess = packedFrom(oldest) - most
if excess > 0 then
  deletePacks(oldest.last - oldest.size + excess)
  oldest = packAfter(0)
end
for _ = 1, MAX_OLD_PACKS do
  if not oldest or oldest.time >= since * 1000 then break end
  deletePacks(oldest.last)
  oldest = packAfter(0)
end
if not oldest then return 0 end
-- Of this pack some jobs stay.
if packedFrom(oldest) > most or hasOld(oldest) then
  unpackOldest(1)
  removeEntries()
end
return oldest.time < since * 1000 and 1 or 0
