-- Moves waiting ids to their new shards while the queue is resharded, in the order of their names. The last step
-- waits until nothing is in flight under a removed shard: until then a member must be able to own that shard.
--
-- KEYS  as in ordered-open.lua.
-- ARGV  begin as there; then comes the most ids to check.
-- Returns the number of moved ids, and 1 when there is more to do at once, or 2 when the ids must be indexed by name
-- first.
-- include: arguments ordered-open ordered-notify ordered-names ordered-opened

local most = number()
if not from then return { 0, 0 } end

local isAtEnd = redis.call('HEXISTS', QUEUE, 'cursor') == 0
if not isAtEnd then
  if not named or redis.call('HEXISTS', QUEUE, 'naming') == 1 then return { 0, 2 } end
  keepNames()
  local behind = redis.call('HGET', QUEUE, 'cursor')
  local ids = redis.call('ZRANGEBYLEX', NAMES, behind == '' and '-' or '(' .. behind, '+', 'LIMIT', 0, most)
  local moved, isNotified = 0, {}
  for _, id in ipairs(ids) do
    local home, old = homesOf(id)
    local performIn = old and redis.call('ZSCORE', DUE[old], id)
    if performIn then
      local retries = redis.call('ZSCORE', RETRIES[old], id)
      redis.call('ZREM', DUE[old], id)
      redis.call('ZREM', RETRIES[old], id)
      redis.call('ZADD', DUE[home], performIn, id)
      if retries then redis.call('ZADD', RETRIES[home], retries, id) end
      isNotified[home] = true
      moved = moved + 1
    end
  end
  for shard in pairs(isNotified) do notifyShard(shard) end
  if #ids == most then
    redis.call('HSET', QUEUE, 'cursor', ids[#ids])
    return { moved, 1 }
  end
  redis.call('HDEL', QUEUE, 'cursor')
  if moved > 0 then return { moved, 0 } end
end

for shard = shards, from - 1 do
  if redis.call('EXISTS', FETCHED[shard]) == 1 then return { 0, 0 } end
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
notifyMembers()
return { 0, 0 }
