-- Acts on waiting or dead ids.
--
-- KEYS  as in ordered-open.lua.
-- ARGV  begin as there, with all shards; then come "now", "delete", "kill", "resurrect" or "delete-dead"; "failed" (of
--       waiting ids only those that have failed) or "", now in seconds, error or "" (the id keeps its error), most
--       payloads that are moved one by one, ids.
-- Returns the number of finished ids, and the number of the first id that is not finished, or 0. The caller calls
-- again from that id on.
-- include: arguments ordered-open ordered-notify ordered-state ordered-opened

local act, isFailed, seconds, err, room = text(), text() ~= '', text(), text(), number()
for i = position + 1, #ARGV do refuse(wrongId(ARGV[i])) end

-- Returns state and payload of a waiting id on which the call acts; otherwise nothing.
local function waiting(id)
  local record = redis.call('HGET', IDS, id)
  if not record then return end
  local line, body = splitRecord(record)
  local state = readState(line)
  if not isFailed or state.retryCount >= 0 then return state, body end
end

local function deleteDead(id)
  redis.call('ZREM', MORGUE, id)
  redis.call('UNLINK', MORGUE_PAYLOADS .. id)
  redis.call('ZREM', MORGUE_NAMES, id)
  redis.call('HDEL', MORGUE_ABOUT, id)
  return true
end

-- Each action returns true when it is finished with the id, false when it is not, and nothing when the call does not act on
-- the id. It moves payloads one by one only when the destination has some of the id already, so that no id is left with a
-- part of its payloads.
local actions = {}

function actions.now(id)
  if not waiting(id) then return end
  local home, old = homesOf(id)
  for _, key in pairs({ BEHIND, DUE[home], old and DUE[old] }) do
    if key then redis.call('ZADD', key, 'XX', 'LT', seconds, id) end
  end
  return true
end

function actions.delete(id)
  if waiting(id) then return deleteWaiting(id) end
end

function actions.kill(id)
  local state, body = waiting(id)
  if not state then return end
  if room == 0 then return false end
  local why = err ~= '' and err or state.error
  if body ~= '' then
    addToMorgue(id, { splitPayload(body) }, why, seconds)
  elseif redis.call('EXISTS', MORGUE_PAYLOADS .. id) == 0 then
    redis.call('RENAME', PAYLOADS .. id, MORGUE_PAYLOADS .. id)
    addToMorgue(id, {}, why, seconds)
  else
    local left = redis.call('ZCARD', PAYLOADS .. id) - room
    addPayloads(MORGUE_PAYLOADS .. id, 'NX', lowestOf(PAYLOADS .. id, room))
    if left > 0 then
      redis.call('ZREMRANGEBYRANK', PAYLOADS .. id, 0, room - 1)
      return false
    end
    room = -left
    addToMorgue(id, {}, why, seconds)
  end
  return deleteWaiting(id)
end

function actions.resurrect(id)
  if not redis.call('ZSCORE', MORGUE, id) then return end
  if room == 0 then return false end
  local key = MORGUE_PAYLOADS .. id
  local size = redis.call('ZCARD', key)
  if size == 0 then return deleteDead(id) end
  local died = string.match(redis.call('HGET', MORGUE_ABOUT, id) or '', '^%d+ (.*)$') or ''
  local record = redis.call('HGET', IDS, id)
  local state = record and readState((splitRecord(record))) or newState()
  state.retryCount, state.error = -1, died
  if not record and size > 1 then
    redis.call('RENAME', key, PAYLOADS .. id)
    merge(id, {}, state, seconds)
    return deleteDead(id)
  end
  merge(id, lowestOf(key, room), state, seconds)
  if size > room then
    redis.call('ZREMRANGEBYRANK', key, 0, room - 1)
    return false
  end
  room = room - size
  return deleteDead(id)
end

actions['delete-dead'] = function(id)
  if redis.call('ZSCORE', MORGUE, id) then return deleteDead(id) end
end

local n, unfinished = 0, 0
for i = position + 1, #ARGV do
  local isFinished = actions[act](ARGV[i])
  if isFinished then n = n + 1 end
  if isFinished == false then
    unfinished = i - position
    break
  end
end
if (act == 'now' or act == 'resurrect') and n + unfinished > 0 then
  for shard in pairs(DUE) do notifyShard(shard) end
end
return { n, unfinished }
