-- The locks of unique jobs: a hash, lock to ENDS:SUSPICION:DUE:HOLDER. ENDS: from this time (ms) on the lock is free, or "".
-- SUSPICION: "-" if the lock is held until then, also without its job; the last walk that did not find the job; or "".
-- DUE: the score with which the job was scheduled, or "".

-- Returns the parts of a lock that is held at a time (ms): holder, end, suspicion, due. Nothing if it is free.
local function heldLock(value, time)
  local ends, suspicion, due, holder = string.match(value or '', '^(%d*):([^:]*):([^:]*):(.*)$')
  if holder and (ends == '' or tonumber(ends) > time) then return holder, ends, suspicion, due end
end

local function findLock(locks, key, time)
  return heldLock(redis.call('HGET', locks, key), time)
end

local function writeLock(locks, key, holder, ends, suspicion, due)
  redis.call('HSET', locks, key, ends .. ':' .. suspicion .. ':' .. due .. ':' .. holder)
end

local function releaseLock(locks, key, holder, time)
  if findLock(locks, key, time) == holder then redis.call('HDEL', locks, key) end
end

-- Removes the suspicion of a lock if this job has it. With `acquires` the job gets the lock if it is free.
local function keepLock(locks, key, holder, time, ends, due, acquires)
  local held, heldEnds, suspicion = findLock(locks, key, time)
  if held == holder then
    if suspicion ~= '-' then writeLock(locks, key, holder, heldEnds, '', due) end
  elseif acquires and not held and (ends == '' or tonumber(ends) > time) then
    writeLock(locks, key, holder, ends, '', due)
  end
end
