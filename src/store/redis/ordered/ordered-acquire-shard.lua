-- Makes a member the owner of a shard that nobody with a lease owns, and returns the ids in flight there to the
-- queue.
--
-- KEYS  as in ordered-open.lua.
-- ARGV  begin as there, with all shards; then come shard, owner, most crashes, now in seconds, the error of an id
--       that crashed too often.
-- Returns nothing; or the token, the number of ids that went back, and of each id that went to the morgue its id, how
-- often it died, and its payloads as score, payload, … The owner of the shard gets the same deaths again until it
-- fetches.
-- include: arguments ordered-open ordered-notify ordered-state ordered-restore ordered-opened

local shard, owner, mostCrashes, seconds, err = number(), text(), number(), text(), text()
if not DUE[shard] or not holds(owner) or redis.call('SISMEMBER', MEMBERS, owner) == 0 then return false end
local before = redis.call('HGET', QUEUE, 'owner:' .. shard)
if before and holds(before) then
  if before ~= owner then return false end
  local deaths = redis.call('HGET', QUEUE, 'died:' .. shard)
  return { tonumber(redis.call('HGET', QUEUE, 'token:' .. shard)), 0, deaths and cmsgpack.unpack(deaths) or {} }
end
refuse(wrongFlights(shard))

redis.call('HDEL', QUEUE, 'owner:' .. shard, 'died:' .. shard)
if before then removeMember(before) end
local token = redis.call('HINCRBY', QUEUE, 'token:' .. shard, 1)
if token == 1 then
  -- An earlier queue of this name may have used small tokens, and a stopped process may still hold one.
  token = clock()
  redis.call('HSET', QUEUE, 'token:' .. shard, string.format('%d', token))
end
redis.call('HSET', QUEUE, 'owner:' .. shard, owner)

local died = {}
local isOne = redis.call('HLEN', FETCHED[shard]) == 1
local back = restore(shard, function(id, state, flat)
  if not isOne then
    state.suspect = 1
    return
  end
  state.crashes = state.crashes + 1
  if state.crashes < mostCrashes then return end
  died[#died + 1] = { id, addToMorgue(id, flat, err, seconds), flat }
  return true
end)
if #died > 0 then redis.call('HSET', QUEUE, 'died:' .. shard, cmsgpack.pack(died)) end
return { token, back, died }
