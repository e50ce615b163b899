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

-- Reads the locks of a push from ARGV: their number, and of each lock its name, end or "", suspicion.
local function readClaims()
  local claims = {}
  for i = 1, number() do claims[i] = { key = text(), ends = text(), suspicion = text() } end
  return claims
end

-- Returns the job that has the first of the locks that is held, and its due; nothing if all are free.
local function holderOf(locks, claims, time)
  for _, claim in ipairs(claims) do
    local holder, _, _, due = findLock(locks, claim.key, time)
    if holder then return holder, due end
  end
end

local function acquireLocks(locks, claims, holder, due)
  for _, claim in ipairs(claims) do writeLock(locks, claim.key, holder, claim.ends, claim.suspicion, due) end
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
