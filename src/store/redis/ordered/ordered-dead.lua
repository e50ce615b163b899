-- Resurrects or deletes dead ids.
--
-- KEYS  as in ordered-open.lua.
-- ARGV  begin as there, with all shards; then come "resurrect" or "delete", now in seconds or "", most payloads that
--       are moved one by one, ids.
-- Returns the number of finished ids, and the number of the first id that is not finished, or 0. The caller calls
-- again from that id on.
-- include: arguments ordered-open ordered-notify ordered-state ordered-opened

local act, seconds, room = text(), text(), number()
for i = cursor + 1, #ARGV do
  refuse(wrongId(ARGV[i]))
end

-- Puts the dead payloads of an id back into the queue. Returns false when only a part of them went back. Payloads are
-- moved one by one only when some of the id wait already.
local function resurrect(id)
  local key = MORGUE_PAYLOADS .. id
  local size = redis.call('ZCARD', key)
  if size == 0 then return true end
  local err = string.match(redis.call('HGET', MORGUE_ABOUT, id) or '', '^%d+ (.*)$') or ''
  local record = redis.call('HGET', IDS, id)
  local state = record and readState((splitRecord(record))) or newState()
  state.retryCount, state.error = -1, err
  if not record and size > 1 then
    redis.call('RENAME', key, PAYLOADS .. id)
    merge(id, {}, state, seconds)
    return true
  end
  merge(id, lowestOf(key, room), state, seconds)
  if size > room then
    redis.call('ZREMRANGEBYRANK', key, 0, room - 1)
    return false
  end
  room = room - size
  return true
end

local n, unfinished = 0, 0
for i = cursor + 1, #ARGV do
  local id = ARGV[i]
  if redis.call('ZSCORE', MORGUE, id) then
    if act == 'resurrect' and (room == 0 or not resurrect(id)) then
      unfinished = i - cursor
      break
    end
    n = n + 1
    redis.call('ZREM', MORGUE, id)
    redis.call('UNLINK', MORGUE_PAYLOADS .. id)
    redis.call('ZREM', MORGUE_NAMES, id)
    redis.call('HDEL', MORGUE_ABOUT, id)
  end
end
if act == 'resurrect' and n + unfinished > 0 then
  for shard in pairs(DUE) do notifyShard(shard) end
end
return { n, unfinished }
