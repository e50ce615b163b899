-- Makes a member the owner of a shard that nobody with a lease owns, and puts back what was left in flight there.
--
-- KEYS  see ordered-open.lua.
-- ARGV  as there, all shards; shard, owner, most stalls, now in seconds, the error of what stalled too often.
-- Gives false; or the token, how many ids went back, and of each that went to the morgue its id, how often it died, and
-- its payloads as score, payload, …; the owner that it has gets the same deaths again until it has taken something.
-- include: arguments ordered-open ordered-bell ordered-book ordered-restore clock

local refused = opened()
if refused then return refused end
local shard, owner, mostStalls, seconds, err = number(), text(), number(), text(), text()
if not DUE[shard] or not holds(owner) or redis.call('SISMEMBER', MEMBERS, owner) == 0 then return false end
local before = redis.call('HGET', QUEUE, 'owner:' .. shard)
if before and holds(before) then
  if before ~= owner then return false end
  local told = redis.call('HGET', QUEUE, 'died:' .. shard)
  return { tonumber(redis.call('HGET', QUEUE, 'token:' .. shard)), 0, told and cmsgpack.unpack(told) or {} }
end
local key = wrongFlights(shard)
if key then return redis.error_reply(unusable(key)) end

redis.call('HDEL', QUEUE, 'owner:' .. shard, 'died:' .. shard)
if before then strike(before) end
local token = redis.call('HINCRBY', QUEUE, 'token:' .. shard, 1)
if token == 1 then
  -- A queue of that name may have been there before, and somebody may still hold a fence of it.
  token = clock()
  redis.call('HSET', QUEUE, 'token:' .. shard, string.format('%d', token))
end
redis.call('HSET', QUEUE, 'owner:' .. shard, owner)

local died = {}
local isOne = redis.call('HLEN', TAKEN[shard]) == 1
local back = restore(shard, function(id, state, flat)
  if not isOne then
    state.suspect = 1
    return
  end
  state.stalls = state.stalls + 1
  if state.stalls < mostStalls then return end
  died[#died + 1] = { id, bury(id, flat, err, seconds), flat }
  return true
end)
if #died > 0 then redis.call('HSET', QUEUE, 'died:' .. shard, cmsgpack.pack(died)) end
return { token, back, died }
