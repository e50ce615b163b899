-- Carries out one step of an owner: settles ids, then fetches due ids. Atomic for each settlement.
--
-- KEYS  as in ordered-open.lua.
-- ARGV  begin as there; then come owner, now (ms), the same in seconds, most payloads of an id, most bytes; number of
--       groups of ids that are done, and of each: shard, token, flight, number of ids, ids; number of other
--       settlements, and of each: shard, token, id, flight, "failed" or "snoozed" (then performIn, retryCount, error),
--       "dead" (then error), "requeue" or "cancelled"; number of shards to fetch from, and of each: shard, token, most
--       ids.
-- Returns the answers for done ids as one text, and those for other settlements (o ok, f fenced, e error); the
-- problems as lines; whether the queue is paused (1); id, flight, id, … of the cancelled ids of the owner; and for
-- each shard "lost", or when the next id is due or "", the flight, id, record, id, …
-- include: arguments ordered-open ordered-notify ordered-names ordered-state ordered-restore ordered-fetch

local refused = opened({ QUEUE, IDS, FLIGHTS, BEHIND, NAMES, CANCELLED, LEASES })
if refused then return refused end
local owner, nowMs, nowSeconds = text(), text(), text()
local mostPayloads, mostBytes = number(), number()
local seconds = tonumber(nowSeconds)
local isHere = holds(owner)
forgetNames()

local owned = {}
local function owns(shard, token)
  if not isHere or not DUE[shard] then return false end
  local known = owned[shard]
  if not known then
    known = redis.call('HMGET', QUEUE, 'owner:' .. shard, 'token:' .. shard, 'suspect:' .. shard, 'died:' .. shard)
    owned[shard] = known
    -- An owner that uses its token has received the deaths of its acquire call.
    if known[4] and known[1] == owner and known[2] == token then redis.call('HDEL', QUEUE, 'died:' .. shard) end
  end
  return known[1] == owner and known[2] == token
end

local counts = {}
local function count(field, shard, n)
  -- A removed shard counts for an existing one.
  local name = field .. ':' .. shard % shards
  counts[name] = (counts[name] or 0) + n
end

local function release(shard)
  if owned[shard][3] then
    redis.call('HDEL', QUEUE, 'suspect:' .. shard)
    owned[shard][3] = false
  end
end

local done = {}
for i = 1, number() do
  local shard, token, flight, n = number(), text(), text(), number()
  local ended = {}
  if owns(shard, token) then
    local flights = redis.call('HMGET', FLIGHTS, unpack(ARGV, position + 1, position + n))
    local isSeen = {}
    for j = 1, n do
      local id = ARGV[position + j]
      local isOurs = flights[j] == flight and not isSeen[id]
      if isOurs then
        ended[#ended + 1] = id
        isSeen[id] = true
      end
      done[#done + 1] = isOurs and 'o' or 'f'
    end
  else
    done[#done + 1] = string.rep('f', n)
  end
  position = position + n
  if #ended > 0 then
    redis.call('HDEL', FLIGHTS, unpack(ended))
    redis.call('HDEL', FETCHED[shard], unpack(ended))
    release(shard)
    if redis.call('EXISTS', CANCELLED) == 1 then redis.call('HDEL', CANCELLED, unpack(ended)) end
    if redis.call('EXISTS', BEHIND) == 1 then
      for j, performIn in ipairs(redis.call('ZMSCORE', BEHIND, unpack(ended))) do
        -- The owner may be waiting for an id that is due later.
        if performIn then notifyShard(requeueBehind(ended[j])) end
      end
    end
    count('processed', shard, #ended)
  end
end

local function settle(id, shard, kind, performIn, retryCount, err)
  local fetched, isCancelled, undo = removeFlight(id, shard)
  local ok, problem = pcall(function()
    local time, state, flat = readFetched(fetched)
    if isCancelled or kind == 'cancelled' then
      requeueBehind(id)
    elseif kind == 'requeue' then
      merge(id, flat, state, time)
    elseif kind == 'failed' or kind == 'snoozed' then
      merge(id, flat, { retryCount = retryCount, crashes = 0, suspect = 0, error = err }, performIn)
      if kind == 'failed' then count('failed', shard, 1) end
    else
      addToMorgue(id, { flat[1], flat[2] }, err, nowSeconds)
      if #flat > 2 then
        local rest = {}
        for j = 3, #flat do rest[j - 2] = flat[j] end
        merge(id, rest, { retryCount = -1, crashes = 0, suspect = 0, error = err }, nowSeconds)
      else
        requeueBehind(id)
      end
      count('failed', shard, 1)
    end
  end)
  if ok then
    release(shard)
    return 'o'
  end
  undo()
  report(messageOf(problem))
  return 'e'
end

local settled = {}
for i = 1, number() do
  local shard, token, id, flight, kind = number(), text(), text(), text(), text()
  local performIn, retryCount, err
  if kind == 'failed' or kind == 'snoozed' then performIn, retryCount, err = text(), number(), text() end
  if kind == 'dead' then err = text() end
  if not owns(shard, token) or redis.call('HGET', FLIGHTS, id) ~= flight then
    settled[i] = 'f'
  elseif wrongId(id) or kind == 'dead' and wrongKey(MORGUE_KEYS) then
    report(unusable(wrongId(id) or wrongKey(MORGUE_KEYS)))
    settled[i] = 'e'
  else
    settled[i] = settle(id, shard, kind, performIn, retryCount, err)
    notifyShard((homesOf(id)))
  end
end

-- Makes the flight of the next fetch.
local function flightOf(shard, token)
  local ticket = tonumber(redis.call('HGET', QUEUE, 'tickets')) + 1
  local flight = string.format('%d %d %s %s', ticket, shard, token, nowMs)
  return flight .. string.rep(' ', LONG - #flight)
end

local isPaused = redis.call('HGET', QUEUE, 'paused') == '1'
local answers, bytes, isFirst = {}, 0, true
for i = 1, number() do
  local shard, token, wanted = number(), text(), number()
  if not owns(shard, token) then
    answers[i] = { 'lost' }
  else
    if isPaused or owned[shard][3] or bytes >= mostBytes then wanted = 0 end
    local due, fetched, size, flight =
      fetchDue(shard, token, wanted, mostPayloads, mostBytes - bytes, isFirst, seconds, flightOf, report)
    if #fetched > 0 then
      redis.call('HINCRBY', QUEUE, 'tickets', 1)
      bytes, isFirst = bytes + size, false
      owned[shard] = nil
    end
    answers[i] = { due or '', flight or '', unpack(fetched) }
  end
end

for name, n in pairs(counts) do redis.call('HINCRBY', QUEUE, name, n) end

local cancelled = {}
if isHere and redis.call('EXISTS', CANCELLED) == 1 then
  local flat = redis.call('HGETALL', CANCELLED)
  for i = 1, #flat, 2 do
    local shard = string.match(redis.call('HGET', FLIGHTS, flat[i]) or '', '^%d+ (%d+) ')
    if shard and redis.call('HGET', QUEUE, 'owner:' .. shard) == owner then
      cancelled[#cancelled + 1] = flat[i]
      cancelled[#cancelled + 1] = flat[i + 1]
    end
  end
end

return {
  table.concat(done), table.concat(settled), table.concat(problems, '\n'), isPaused and 1 or 0, cancelled, unpack(answers),
}
