-- Takes one payload that waits away; an id without any is gone. Gives 0 when it is not there.
--
-- KEYS  see ordered-open.lua.
-- ARGV  as there, all shards; id, payload.
-- include: arguments ordered-open ordered-book

local refused = opened()
if refused then return refused end
local id, payload = text(), text()
local record = redis.call('HGET', IDS, id)
if not record then return 0 end
local _, body = splitRecord(record)
if body ~= '' then
  local _, single = splitPayload(body)
  if single ~= payload then return 0 end
  drop(id)
  return 1
end
local key = PAYLOADS .. id
if wrong(key, 'zset') then return redis.error_reply(unusable(key)) end
local n = redis.call('ZREM', key, payload)
if n == 1 and redis.call('EXISTS', key) == 0 then drop(id) end
return n
