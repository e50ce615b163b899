-- Moves waiting ids to the shards where they belong now, in the order of their names. The last step waits until nothing is
-- in flight under a shard that is no more: as long it must be possible to own that.
--
-- KEYS  see ordered-open.lua.
-- ARGV  as there, all shards; most ids to look at.
-- Gives how many it moved, and whether it should go on at once (1), or first see to the names (2).
-- include: arguments ordered-open ordered-bell clock ordered-names

local refused = opened()
if refused then return refused end
local most = number()
if not from then return { 0, 0 } end

local isAtEnd = redis.call('HEXISTS', QUEUE, 'cursor') == 0
if not isAtEnd then
  if not named or redis.call('HEXISTS', QUEUE, 'naming') == 1 then return { 0, 2 } end
  keepNames()
  local behind = redis.call('HGET', QUEUE, 'cursor')
  local ids = redis.call('ZRANGEBYLEX', NAMES, behind == '' and '-' or '(' .. behind, '+', 'LIMIT', 0, most)
  local moved, isRung = 0, {}
  for _, id in ipairs(ids) do
    local home, old = homesOf(id)
    local performIn = old and redis.call('ZSCORE', DUE[old], id)
    if performIn then
      local retries = redis.call('ZSCORE', RETRIES[old], id)
      redis.call('ZREM', DUE[old], id)
      redis.call('ZREM', RETRIES[old], id)
      redis.call('ZADD', DUE[home], performIn, id)
      if retries then redis.call('ZADD', RETRIES[home], retries, id) end
      isRung[home] = true
      moved = moved + 1
    end
  end
  for shard in pairs(isRung) do ringShard(shard) end
  if #ids == most then
    redis.call('HSET', QUEUE, 'cursor', ids[#ids])
    return { moved, 1 }
  end
  redis.call('HDEL', QUEUE, 'cursor')
  if moved > 0 then return { moved, 0 } end
end

for shard = shards, from - 1 do
  if redis.call('EXISTS', TAKEN[shard]) == 1 then return { 0, 0 } end
end
redis.call('HDEL', QUEUE, 'from')
for shard = shards, from - 1 do
  redis.call('HDEL', QUEUE, 'owner:' .. shard)
  for _, field in ipairs({ 'processed:', 'failed:' }) do
    local n = redis.call('HGET', QUEUE, field .. shard)
    if n then
      redis.call('HDEL', QUEUE, field .. shard)
      redis.call('HINCRBY', QUEUE, field .. shard % shards, n)
    end
  end
end
ringAll()
return { 0, 0 }
