-- Reads and writes what the store knows of an id.
--
-- The record of a waiting id is a line with its state, then score, a space and payload. With several payloads nothing
-- is behind the line: they are in a sorted set. The line has retryCount, crashes, suspect (1 or 0), and the error as
-- JSON or nothing; it is empty while all of them have their first value.
--
-- The record of a fetched id has performIn on a line before that. With several payloads a star follows the lines,
-- then score, length and payload of each.

local function newState()
  return { retryCount = -1, crashes = 0, suspect = 0, error = '' }
end

-- Returns the line, and the text after it.
local function splitRecord(record)
  local last = string.find(record, '\n', 1, true)
  return string.sub(record, 1, last), string.sub(record, last + 1)
end

local function readState(line)
  local retryCount, crashes, suspect, err = string.match(line, '^(%-?%d+) (%d+) (%d) (.*)\n$')
  if not retryCount then return newState() end
  return { retryCount = tonumber(retryCount), crashes = tonumber(crashes), suspect = tonumber(suspect), error = err }
end

local function writeState(state)
  if state.retryCount == -1 and state.crashes == 0 and state.suspect == 0 and state.error == '' then return '\n' end
  return string.format('%d %d %d ', state.retryCount, state.crashes, state.suspect) .. state.error .. '\n'
end

-- Returns score and payload.
local function splitPayload(body)
  return string.match(body, '^(%S+) (.*)$')
end

-- Returns performIn, state, and payloads as score, payload, score, …
local function readFetched(record)
  local performIn, rest = string.match(record, '^(%S+) *\n(.*)$')
  local line, body = splitRecord(rest)
  local flat = {}
  if string.sub(body, 1, 1) ~= '*' then
    flat[1], flat[2] = splitPayload(body)
  else
    local at = 2
    while at <= #body do
      local _, last, score, length = string.find(body, '^(%S+) (%d+) ', at)
      flat[#flat + 1] = score
      flat[#flat + 1] = string.sub(body, last + 1, last + length)
      at = last + length + 1
    end
  end
  return performIn, readState(line), flat
end

-- `rule`: LT keeps the smaller score, NX the first one.
local function addPayloads(key, rule, flat)
  for i = 1, #flat, 1000 do
    redis.call('ZADD', key, rule, unpack(flat, i, math.min(i + 999, #flat)))
  end
end

-- Returns the lowest payloads of a key, at most that many, as score, payload, score, …
local function lowestOf(key, most)
  local found = redis.call('ZRANGE', key, 0, most - 1, 'WITHSCORES')
  for i = 1, #found, 2 do found[i], found[i + 1] = found[i + 1], found[i] end
  return found
end

-- Returns the first key of the wrong type among the payloads and the dead payloads of an id.
local function wrongId(id)
  return wrong(PAYLOADS .. id, 'zset') or wrong(MORGUE_PAYLOADS .. id, 'zset')
end

-- Removes a waiting id from its shard, or from behind its flight. Returns its performIn.
local function removeWaiting(id)
  local performIn = redis.call('ZSCORE', BEHIND, id)
  if performIn then
    redis.call('ZREM', BEHIND, id)
    return performIn
  end
  local home, old = homesOf(id)
  for _, shard in pairs({ home, old }) do
    performIn = redis.call('ZSCORE', DUE[shard], id)
    if performIn then
      redis.call('ZREM', DUE[shard], id)
      redis.call('ZREM', RETRIES[shard], id)
      return performIn
    end
  end
end

-- Adds a waiting id to its shard, or behind its flight.
local function addWaiting(id, performIn, retryCount)
  if redis.call('HEXISTS', FLIGHTS, id) == 1 then
    redis.call('ZADD', BEHIND, performIn, id)
    return
  end
  local home = homesOf(id)
  redis.call('ZADD', DUE[home], performIn, id)
  if retryCount >= 0 then redis.call('ZADD', RETRIES[home], retryCount, id) end
end

-- Makes an id due that has waited behind its flight. Returns its shard.
local function requeueBehind(id)
  local performIn = redis.call('ZSCORE', BEHIND, id)
  if not performIn then return end
  redis.call('ZREM', BEHIND, id)
  local home = homesOf(id)
  redis.call('ZADD', DUE[home], performIn, id)
  return home
end

-- Merges payloads into an id, and sets its state and performIn.
local function merge(id, flat, state, performIn)
  local record = redis.call('HGET', IDS, id)
  local body = ''
  if record then
    local _, single = splitRecord(record)
    local score, payload = splitPayload(single)
    if payload and #flat == 2 and flat[2] == payload then
      body = (tonumber(flat[1]) < tonumber(score) and flat[1] or score) .. ' ' .. payload
    else
      addPayloads(PAYLOADS .. id, 'LT', flat)
      if payload then addPayloads(PAYLOADS .. id, 'LT', { score, payload }) end
    end
    removeWaiting(id)
  else
    if #flat == 2 then body = flat[1] .. ' ' .. flat[2] else addPayloads(PAYLOADS .. id, 'LT', flat) end
    if named then redis.call('ZADD', NAMES, 0, id) end
  end
  redis.call('HSET', IDS, id, writeState(state) .. body)
  addWaiting(id, performIn, state.retryCount)
end

-- Returns when a waiting id is due.
local function performInOf(id)
  local home, old = homesOf(id)
  return redis.call('ZSCORE', BEHIND, id) or redis.call('ZSCORE', DUE[home], id) or old and redis.call('ZSCORE', DUE[old], id)
end

-- Adds payloads to an id. One that waits already keeps its state, and the earlier performIn.
local function mergeWaiting(id, flat, state, performIn)
  local record = redis.call('HGET', IDS, id)
  if record then
    state = readState((splitRecord(record)))
    local there = performInOf(id)
    if there and tonumber(there) < tonumber(performIn) then performIn = there end
  end
  merge(id, flat, state, performIn)
end

-- Adds payloads with their entry to the morgue. An id that is there keeps its error, the newer time and the larger number of
-- deaths.
local function mergeDead(id, flat, at, deaths, err)
  local known, reason = string.match(redis.call('HGET', MORGUE_ABOUT, id) or '', '^(%d+) (.*)$')
  addPayloads(MORGUE_PAYLOADS .. id, 'NX', flat)
  redis.call('HSET', MORGUE_ABOUT, id, string.format('%d ', math.max(known or 0, deaths)) .. (reason or err))
  redis.call('ZADD', MORGUE, 'GT', at, id)
  redis.call('ZADD', MORGUE_NAMES, 0, id)
end

-- Deletes a waiting id. Returns false when it does not wait.
local function deleteWaiting(id)
  if redis.call('HDEL', IDS, id) == 0 then return false end
  redis.call('UNLINK', PAYLOADS .. id)
  if named then redis.call('ZREM', NAMES, id) end
  removeWaiting(id)
  return true
end

-- Adds payloads of an id to the morgue.
local function addToMorgue(id, flat, err, at)
  addPayloads(MORGUE_PAYLOADS .. id, 'NX', flat)
  local deaths = string.match(redis.call('HGET', MORGUE_ABOUT, id) or '0 ', '^%d+') + 1
  redis.call('HSET', MORGUE_ABOUT, id, string.format('%d ', deaths) .. err)
  redis.call('ZADD', MORGUE, at, id)
  redis.call('ZADD', MORGUE_NAMES, 0, id)
  return deaths
end
