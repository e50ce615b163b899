-- Acts on what waits of ids: makes it due, deletes or kills it.
--
-- KEYS  see ordered-open.lua.
-- ARGV  as there, all shards; "now" | "delete" | "kill", "failed" or "" (fresh ones, too), now in seconds, error or "" (the
--       one that it has), ids.
-- Gives how many it was.
-- include: arguments ordered-open ordered-bell ordered-book

local refused = opened()
if refused then return refused end
local act, isFailed, seconds, err = text(), text() ~= '', text(), text()
for i = cursor + 1, #ARGV do
  local key = wrongId(ARGV[i])
  if key then return redis.error_reply(unusable(key)) end
end

local function makeDue(id)
  local home, old = homesOf(id)
  for _, key in pairs({ BEHIND, DUE[home], old and DUE[old] }) do
    if key then redis.call('ZADD', key, 'XX', 'LT', seconds, id) end
  end
end

local n = 0
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
    n = n + 1
    if act == 'now' then
      makeDue(id)
    else
      if act == 'kill' then
        local flat = {}
        if body ~= '' then
          flat[1], flat[2] = splitPayload(body)
        else
          local found = redis.call('ZRANGE', PAYLOADS .. id, 0, -1, 'WITHSCORES')
          for j = 1, #found, 2 do flat[j], flat[j + 1] = found[j + 1], found[j] end
        end
        bury(id, flat, err ~= '' and err or state.error, seconds)
      end
      drop(id)
    end
  end
end
if act == 'now' and n > 0 then
  for shard in pairs(DUE) do ringShard(shard) end
end
return n
