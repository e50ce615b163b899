-- Waking who waits. One ring is held at most: whoever hears it looks at everything.

local RING_MS = 60000

local function ring(owner)
  local bell = BELL .. owner
  if redis.call('EXISTS', bell) == 1 then return end
  redis.call('RPUSH', bell, '')
  redis.call('PEXPIRE', bell, RING_MS)
end

local function ringShard(shard)
  local owner = redis.call('HGET', QUEUE, 'owner:' .. shard)
  if owner then ring(owner) end
end

local function ringAll()
  for _, owner in ipairs(redis.call('SMEMBERS', MEMBERS)) do
    if holds(owner) then ring(owner) end
  end
end

-- It is no member any more.
local function strike(owner)
  redis.call('SREM', MEMBERS, owner)
  redis.call('DEL', BELL .. owner)
end
