-- Notifies owners that wait. An owner has at most one notification: the number of a shard, or nothing, which means
-- all shards.

local NOTIFICATION_MS = 60000
local ALL = ''

local function notify(owner, where)
  local key = NOTIFICATIONS .. owner
  local waiting = redis.call('LINDEX', key, 0)
  if not waiting then
    redis.call('RPUSH', key, where)
    redis.call('PEXPIRE', key, NOTIFICATION_MS)
  elseif waiting ~= ALL and waiting ~= where then
    redis.call('LSET', key, 0, ALL)
  end
end

local function notifyShard(shard)
  local owner = redis.call('HGET', QUEUE, 'owner:' .. shard)
  if owner then notify(owner, tostring(shard)) end
end

local function notifyMembers()
  for _, owner in ipairs(redis.call('SMEMBERS', MEMBERS)) do
    if holds(owner) then notify(owner, ALL) end
  end
end

-- Removes an owner from the members.
local function removeMember(owner)
  redis.call('SREM', MEMBERS, owner)
  redis.call('DEL', NOTIFICATIONS .. owner)
end
