-- Waking who waits. One ring is held at most: the number of the shard to look at, or nothing where that is all of them.

local RING_MS = 60000
local ALL = ''

local function ring(owner, where)
  local bell = BELL .. owner
  local held = redis.call('LINDEX', bell, 0)
  if not held then
    redis.call('RPUSH', bell, where)
    redis.call('PEXPIRE', bell, RING_MS)
  elseif held ~= ALL and held ~= where then
    redis.call('LSET', bell, 0, ALL)
  end
end

local function ringShard(shard)
  local owner = redis.call('HGET', QUEUE, 'owner:' .. shard)
  if owner then ring(owner, tostring(shard)) end
end

local function ringAll()
  for _, owner in ipairs(redis.call('SMEMBERS', MEMBERS)) do
    if holds(owner) then ring(owner, ALL) end
  end
end

-- It is no member any more.
local function strike(owner)
  redis.call('SREM', MEMBERS, owner)
  redis.call('DEL', BELL .. owner)
end
