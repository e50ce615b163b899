-- Slots of limits: how they are released, and how a limit that jobs wait for is checked at once.

-- Returns the server's time in microseconds, as the score of a check.
local function microsNow()
  local time = redis.call('TIME')
  return time[1] .. string.format('%06d', time[2])
end

-- Checks a limit now if jobs wait for it. A limit that is due already stays in its place. Returns false when no job waits.
local function checkNow(checks, limit)
  if not redis.call('ZSCORE', checks, limit) then return false end
  redis.call('ZADD', checks, 'LT', microsNow(), limit)
  return true
end

-- Deletes a limit when no job has or awaits a slot.
local function deleteUnused(limits, checks, slots, limit)
  if not redis.call('ZSCORE', checks, limit) and redis.call('ZCARD', slots) == 0 then redis.call('HDEL', limits, limit) end
end

-- Checks a limit from which slots were released, or deletes it when it is unused. Returns whether jobs wait.
local function checkOrDelete(limits, checks, slots, limit)
  if checkNow(checks, limit) then return true end
  deleteUnused(limits, checks, slots, limit)
  return false
end

-- Releases the slot of an attempt, and checks the limit: an attempt that moved because it had room and ended without a slot
-- leaves this room to the next job. Returns whether jobs wait.
local function releaseSlot(limits, checks, slots, limit, holder)
  redis.call('ZREM', slots, holder)
  return checkOrDelete(limits, checks, slots, limit)
end

-- Returns the slots of owners without a lease.
local function orphanedSlots(slots, leases)
  local orphaned = {}
  for _, holder in ipairs(redis.call('ZRANGE', slots, 0, -1)) do
    local stamp = tonumber(redis.call('ZSCORE', leases, string.match(holder, '^(.*) ') or '') or nil)
    if not stamp or stamp < 0 then orphaned[#orphaned + 1] = holder end
  end
  return orphaned
end

-- Releases the slots of owners without a lease, and returns their number.
local function releaseOrphanedSlots(slots, leases)
  local orphaned = orphanedSlots(slots, leases)
  for _, holder in ipairs(orphaned) do redis.call('ZREM', slots, holder) end
  return #orphaned
end
