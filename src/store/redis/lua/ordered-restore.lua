-- Putting back what is in flight under a shard.

-- Takes an id out of flight; what was taken of it, and what undoes that.
local function land(id, shard)
  local flight = redis.call('HGET', FLIGHTS, id)
  local taken = redis.call('HGET', TAKEN[shard], id)
  local alone = redis.call('HGET', QUEUE, 'suspect:' .. shard)
  local cancelled = redis.call('HGET', CANCELLED, id)
  redis.call('HDEL', FLIGHTS, id)
  redis.call('HDEL', TAKEN[shard], id)
  if alone then redis.call('HDEL', QUEUE, 'suspect:' .. shard) end
  if cancelled then redis.call('HDEL', CANCELLED, id) end
  return taken, cancelled ~= false, function()
    redis.call('HSET', FLIGHTS, id, flight)
    redis.call('HSET', TAKEN[shard], id, taken)
    if alone then redis.call('HSET', QUEUE, 'suspect:' .. shard, alone) end
    if cancelled then redis.call('HSET', CANCELLED, id, cancelled) end
  end
end

-- The first key that keeps the ids of a shard from being put back.
local function wrongFlights(shard)
  for _, id in ipairs(redis.call('HKEYS', TAKEN[shard])) do
    local key = wrongId(id)
    if key then return key end
  end
end

-- `change(id, state, payloads)` says how its state changes; true: it does not go back. Answers how many went back.
local function restore(shard, change)
  local back = 0
  for _, id in ipairs(redis.call('HKEYS', TAKEN[shard])) do
    local taken, isCancelled = land(id, shard)
    local performIn, state, flat = readTaken(taken)
    if isCancelled or change and change(id, state, flat) then
      unpark(id)
    else
      putIn(id, flat, state, performIn)
      back = back + 1
    end
  end
  for shard in pairs(DUE) do ringShard(shard) end
  return back
end
