-- Keeps a piece of what a task makes. Gives "ok", "full" or "unknown".
--
-- KEYS  1 header, 2 parts (hash: index → bytes, and "bytes" → all of them).
-- ARGV  index, bytes, most of all together.
-- include: arguments

for i = 1, 2 do
  if wrong(KEYS[i], 'hash') then return redis.error_reply(unusable(KEYS[i])) end
end
local index, bytes, most = text(), text(), number()
if redis.call('EXISTS', KEYS[1]) == 0 then return 'unknown' end
local all = tonumber(redis.call('HGET', KEYS[2], 'bytes') or 0) - redis.call('HSTRLEN', KEYS[2], index) + #bytes
if all > most then return 'full' end
redis.call('HSET', KEYS[2], index, bytes, 'bytes', all)
return 'ok'
