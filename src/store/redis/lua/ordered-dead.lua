-- What is in the morgue of ids: brings it back among what waits, shows it, or deletes it.
--
-- KEYS  see ordered-open.lua.
-- ARGV  as there, all shards; "resurrect" | "delete", now in seconds or "", most payloads that are moved one by one, ids.
-- Gives how many ids are finished, and the number of the first one that is not, or 0: call again from that one on.
-- include: arguments ordered-open ordered-bell ordered-book

local refused = opened()
if refused then return refused end
local act, seconds, room = text(), text(), number()
for i = cursor + 1, #ARGV do
  local key = wrongId(ARGV[i])
  if key then return redis.error_reply(unusable(key)) end
end

-- Puts the dead payloads of an id back into the queue. Returns false when only a part of them went back. Payloads are
-- moved one by one only when some of the id wait already.
local function raise(id)
  local key = MORGUE_PAYLOADS .. id
  local size = redis.call('ZCARD', key)
  if size == 0 then return true end
  local err = string.match(redis.call('HGET', MORGUE_ABOUT, id) or '', '^%d+ (.*)$') or ''
  local record = redis.call('HGET', IDS, id)
  local state = record and readState((splitRecord(record))) or newState()
  state.retryCount, state.error = -1, err
  if not record and size > 1 then
    redis.call('RENAME', key, PAYLOADS .. id)
    putIn(id, {}, state, seconds)
    return true
  end
  putIn(id, lowestOf(key, room), state, seconds)
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
    if act == 'resurrect' and (room == 0 or not raise(id)) then
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
  for shard in pairs(DUE) do ringShard(shard) end
end
return { n, unfinished }
