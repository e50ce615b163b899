-- What is in the morgue of ids: brings it back among what waits, shows it, or deletes it.
--
-- KEYS  see ordered-open.lua.
-- ARGV  as there, all shards; "resurrect" | "delete", now in seconds or "", ids.
-- Gives how many there were.
-- include: arguments ordered-open ordered-bell ordered-book

local refused = opened()
if refused then return refused end
local act, seconds = text(), text()
for i = cursor + 1, #ARGV do
  local key = wrongId(ARGV[i])
  if key then return redis.error_reply(unusable(key)) end
end
local n = 0
for i = cursor + 1, #ARGV do
  local id = ARGV[i]
  local key = MORGUE_PAYLOADS .. id
  if redis.call('ZREM', MORGUE, id) == 1 then
    n = n + 1
    local found = act == 'resurrect' and redis.call('ZRANGE', key, 0, -1, 'WITHSCORES') or {}
    local err = string.match(redis.call('HGET', MORGUE_ABOUT, id) or '', '^%d+ (.*)$') or ''
    redis.call('UNLINK', key)
    redis.call('ZREM', MORGUE_NAMES, id)
    redis.call('HDEL', MORGUE_ABOUT, id)
    if #found > 0 then
      local record = redis.call('HGET', IDS, id)
      local state = record and readState((splitRecord(record))) or newState()
      state.retryCount, state.error = -1, err
      local flat = {}
      for j = 1, #found, 2 do flat[j], flat[j + 1] = found[j + 1], found[j] end
      putIn(id, flat, state, seconds)
    end
  end
end
if act == 'resurrect' and n > 0 then
  for shard in pairs(DUE) do ringShard(shard) end
end
return n
