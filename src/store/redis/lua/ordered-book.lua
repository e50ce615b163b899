-- What waits under an id: a line of its state, then its score, a space and the payload. With more than one payload nothing
-- stands behind the line: they are in a sorted set of their own. The line: retryCount, stalls, suspect (1 | 0), and the
-- error as JSON or nothing; it is empty when all of that is as at the beginning.
-- What was taken of an id: performIn on a line before that; and of several payloads a star, and of each score, length,
-- payload.

local function newState()
  return { retryCount = -1, stalls = 0, suspect = 0, error = '' }
end

-- Text where the line ends, and what is behind it.
local function splitRecord(record)
  local last = string.find(record, '\n', 1, true)
  return string.sub(record, 1, last), string.sub(record, last + 1)
end

local function readState(line)
  local retryCount, stalls, suspect, err = string.match(line, '^(%-?%d+) (%d+) (%d) (.*)\n$')
  if not retryCount then return newState() end
  return { retryCount = tonumber(retryCount), stalls = tonumber(stalls), suspect = tonumber(suspect), error = err }
end

local function writeState(state)
  if state.retryCount == -1 and state.stalls == 0 and state.suspect == 0 and state.error == '' then return '\n' end
  return string.format('%d %d %d ', state.retryCount, state.stalls, state.suspect) .. state.error .. '\n'
end

-- Score and payload.
local function splitPayload(body)
  return string.match(body, '^(%S+) (.*)$')
end

-- Its performIn, state, and payloads as score, payload, score, …
local function readTaken(record)
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

-- `rule`: LT – the smaller score stays; NX – the first one.
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

-- The first key that can't be written when something is done with what waits of an id, or with its part of the morgue.
local function wrongId(id)
  if wrong(PAYLOADS .. id, 'zset') then return PAYLOADS .. id end
  if wrong(MORGUE_PAYLOADS .. id, 'zset') then return MORGUE_PAYLOADS .. id end
end

-- Out of where it waits; answers its performIn.
local function unplace(id)
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

-- To where it belongs.
local function place(id, performIn, retryCount)
  if redis.call('HEXISTS', FLIGHTS, id) == 1 then
    redis.call('ZADD', BEHIND, performIn, id)
    return
  end
  local home = homesOf(id)
  redis.call('ZADD', DUE[home], performIn, id)
  if retryCount >= 0 then redis.call('ZADD', RETRIES[home], retryCount, id) end
end

-- What waits behind an id that is not in flight any more becomes due.
local function unpark(id)
  local performIn = redis.call('ZSCORE', BEHIND, id)
  if not performIn then return end
  redis.call('ZREM', BEHIND, id)
  local home = homesOf(id)
  redis.call('ZADD', DUE[home], performIn, id)
  return home
end

-- Adds payloads to what waits of an id; from then on this is its state, and when it is due.
local function putIn(id, flat, state, performIn)
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
    unplace(id)
  else
    if #flat == 2 then body = flat[1] .. ' ' .. flat[2] else addPayloads(PAYLOADS .. id, 'LT', flat) end
    if named then redis.call('ZADD', NAMES, 0, id) end
  end
  redis.call('HSET', IDS, id, writeState(state) .. body)
  place(id, performIn, state.retryCount)
end

-- What waits of an id is gone. False: nothing did.
local function drop(id)
  if redis.call('HDEL', IDS, id) == 0 then return false end
  redis.call('UNLINK', PAYLOADS .. id)
  if named then redis.call('ZREM', NAMES, id) end
  unplace(id)
  return true
end

-- Into the morgue.
local function bury(id, flat, err, at)
  addPayloads(MORGUE_PAYLOADS .. id, 'NX', flat)
  local deaths = string.match(redis.call('HGET', MORGUE_ABOUT, id) or '0 ', '^%d+') + 1
  redis.call('HSET', MORGUE_ABOUT, id, string.format('%d ', deaths) .. err)
  redis.call('ZADD', MORGUE, at, id)
  redis.call('ZADD', MORGUE_NAMES, 0, id)
  return deaths
end
