-- Acts on waiting ids: makes them due, deletes or kills them.
--
-- KEYS  as in ordered-open.lua.
-- ARGV  begin as there, with all shards; then come "now", "delete" or "kill", "failed" or "" (fresh ids, too), now in
--       seconds, error or "" (the id keeps its error), most payloads that are moved one by one, ids.
-- Returns the number of finished ids, and the number of the first id that is not finished, or 0. The caller calls
-- again from that id on.
-- include: arguments ordered-open ordered-notify ordered-state ordered-opened

local act, isFailed, seconds, err, room = text(), text() ~= '', text(), text(), number()
for i = cursor + 1, #ARGV do
  refuse(wrongId(ARGV[i]))
end

local function makeDue(id)
  local home, old = homesOf(id)
  for _, key in pairs({ BEHIND, DUE[home], old and DUE[old] }) do
    if key then redis.call('ZADD', key, 'XX', 'LT', seconds, id) end
  end
end

-- Kills the waiting payloads of an id. Returns false when only a part of them died. Payloads are moved one by one only
-- when some of the id are dead already, so that a part always joins an existing entry of the morgue.
local function kill(id, state, body)
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
  deleteWaiting(id)
  return true
end

local n, unfinished = 0, 0
for i = cursor + 1, #ARGV do
  local id = ARGV[i]
  local record = redis.call('HGET', IDS, id)
  local state, body
  if record then
    local line
    line, body = splitRecord(record)
    state = readState(line)
  end
  if state and not (isFailed and state.retryCount < 0) then
    if act == 'now' then
      makeDue(id)
    elseif act == 'delete' then
      deleteWaiting(id)
    elseif room == 0 or not kill(id, state, body) then
      unfinished = i - cursor
      break
    end
    n = n + 1
  end
end
if act == 'now' and n > 0 then
  for shard in pairs(DUE) do notifyShard(shard) end
end
return { n, unfinished }
