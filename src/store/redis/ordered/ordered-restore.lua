-- Returns the ids in flight under a shard to the queue.

-- Removes an id from its flight. Returns its record, whether it is cancelled, and a function that undoes the removal.
local function removeFlight(id, shard)
  local flight = redis.call('HGET', FLIGHTS, id)
  local fetched = redis.call('HGET', FETCHED[shard], id)
  local alone = redis.call('HGET', QUEUE, 'suspect:' .. shard)
  local cancelled = redis.call('HGET', CANCELLED, id)
  redis.call('HDEL', FLIGHTS, id)
  redis.call('HDEL', FETCHED[shard], id)
  if alone then redis.call('HDEL', QUEUE, 'suspect:' .. shard) end
  if cancelled then redis.call('HDEL', CANCELLED, id) end
  return fetched, cancelled ~= false, function()
    redis.call('HSET', FLIGHTS, id, flight)
    redis.call('HSET', FETCHED[shard], id, fetched)
    if alone then redis.call('HSET', QUEUE, 'suspect:' .. shard, alone) end
    if cancelled then redis.call('HSET', CANCELLED, id, cancelled) end
  end
end

-- Returns the first key of the wrong type that keeps the ids of a shard from going back.
local function wrongFlights(shard)
  for _, id in ipairs(redis.call('HKEYS', FETCHED[shard])) do
    local key = wrongId(id)
    if key then return key end
  end
end

-- `change(id, state, payloads)` may change the state; when it returns true the id does not go back. Returns the
-- number of ids that went back.
local function restore(shard, change)
  local back = 0
  for _, id in ipairs(redis.call('HKEYS', FETCHED[shard])) do
    local fetched, isCancelled = removeFlight(id, shard)
    local performIn, state, flat = readFetched(fetched)
    if isCancelled or change and change(id, state, flat) then
      requeueBehind(id)
    else
      merge(id, flat, state, performIn)
      back = back + 1
    end
  end
  for shard in pairs(DUE) do notifyShard(shard) end
  return back
end
