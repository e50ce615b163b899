-- Keeps a piece of what a task makes. Gives "ok", "full", "unknown", or "stale": the row is in another attempt.
--
-- KEYS  1 to 11 the task (ledger.lua), 12 parts (hash: index → bytes, and "bytes" → all of them).
-- ARGV  index, bytes, most of all together, run and attempt or "" of each.
-- include: arguments ledger

local key = wrongTask(1) or wrong(KEYS[12], 'hash') and KEYS[12]
if key then return redis.error_reply(unusable(key)) end
local index, bytes, most, run, attempt = text(), text(), number(), number(), number()
local book = bookOf(1)
if not book then return 'unknown' end
if run then
  local event = eventOf(book, tonumber(index))
  -- It has begun, or what ended last is the attempt before.
  local step = event and event.status <= 1 and event.run == run and event.step - 2 * attempt
  if step ~= 0 and step ~= -1 then return 'stale' end
end
local all = tonumber(redis.call('HGET', KEYS[12], 'bytes') or 0) - redis.call('HSTRLEN', KEYS[12], index) + #bytes
if all > most then return 'full' end
redis.call('HSET', KEYS[12], index, bytes, 'bytes', all)
return 'ok'
