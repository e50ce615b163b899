-- Begins to migrate a database of version 0.1: claims the owners whose leases it kept in each queue, and moves its keys
-- that belong to no single task or queue. Changes nothing while one of these leases has not ended.
--
-- A list is left under each old name. Version 0.1 finds a key of the wrong type there, so its processes can neither
-- join, nor read or create tasks, nor cancel jobs.
--
-- ARGV  are the prefix of all keys, the schema that a database without anything to migrate has from now on, the text of
--       the lists.
-- Returns "current" for such a database, "begun" for another one; or the last lease to end: owner, queue and the
-- milliseconds left.
-- include: arguments

local prefix, schema, note = text(), text(), text()
local time = clock()
local leases, ownerKey = prefix .. 'hk:leases', prefix .. 'hk:owner:'
local moved = {
  { 'set', prefix .. 'hk:queues', prefix .. 'hk:task-queues' },
  { 'hash', prefix .. 'hk:tasks', prefix .. 'hk:tasks:by-id' },
  { 'string', prefix .. 'hk:marks', prefix .. 'hk:cancellation-version' },
}
for _, one in ipairs(moved) do
  local kind, old, new = unpack(one)
  refuse(wrong(old, 'list') and wrong(old, kind))
  refuse(not wrong(old, kind) and wrong(new, kind))
end
refuse(wrong(leases, 'zset'))

local queues = wrong(moved[1][2], 'set') and {} or redis.call('SMEMBERS', moved[1][2])
local found, last = {}, nil
for i, queue in ipairs(queues) do
  local root = prefix .. 'hk:{queue:' .. queue .. '}:'
  local one = { leases = root .. 'leases', hosts = root .. 'hosts' }
  refuse(wrong(one.leases, 'zset'))
  refuse(wrong(one.hosts, 'hash'))
  one.owners = redis.call('ZRANGE', one.leases, 0, -1, 'WITHSCORES')
  for j = 1, #one.owners, 2 do
    local owner, left = one.owners[j], tonumber(one.owners[j + 1]) - time
    refuse(wrong(ownerKey .. owner, 'hash'))
    if left > 0 and (not last or left > last[3]) then last = { owner, queue, left } end
  end
  found[i] = one
end
if last then return last end

removeNothing('ZREM', leases)
for i, one in ipairs(found) do
  redis.call('DEL', one.leases, one.hosts)
  for j = 1, #one.owners, 2 do
    local owner, ends = one.owners[j], tonumber(one.owners[j + 1])
    redis.call('ZADD', leases, 'NX', string.format('%d', ends < 0 and ends or -time), owner)
    redis.call('HSET', ownerKey .. owner, 'q ' .. queues[i], '')
  end
end
for _, one in ipairs(moved) do
  local kind, old, new = unpack(one)
  if redis.call('TYPE', old).ok == kind then redis.call('RENAME', old, new) end
  if redis.call('EXISTS', old) == 0 then redis.call('RPUSH', old, note) end
end
if redis.call('EXISTS', moved[1][3], moved[2][3], prefix .. 'hk:ordered') > 0 then return 'begun' end
redis.call('SET', prefix .. 'hk:schema', schema)
return 'current'
