-- Deletes one waiting payload. An id without payloads is deleted as well.
--
-- KEYS  as in ordered-open.lua.
-- ARGV  begin as there, with all shards; then come the id, the payload.
-- Returns 1; 0 when there is no such payload.
-- include: arguments ordered-open ordered-state ordered-opened

local id, payload = text(), text()
local record = redis.call('HGET', IDS, id)
if not record then return 0 end
local _, body = splitRecord(record)
if body ~= '' then
  local _, single = splitPayload(body)
  if single ~= payload then return 0 end
  deleteWaiting(id)
  return 1
end
local key = PAYLOADS .. id
refuse(wrong(key, 'zset'))
local n = redis.call('ZREM', key, payload)
if n == 1 and redis.call('EXISTS', key) == 0 then deleteWaiting(id) end
return n
