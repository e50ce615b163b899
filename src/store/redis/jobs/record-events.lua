-- Starts a recording of events, or extends it, and deletes old events.
--
-- KEYS  1 to 3 are the keys of record.lua.
-- ARGV  are now (ms), how many events it keeps or "", the same for a new recording, seconds, milliseconds for which an
--       event is kept, the first event of a new recording.
-- Returns the newest number as a text, and "1" if the recording is confirmed.
-- include: arguments

-- One call deletes at most PAGES pages of PAGE entries.
local PAGE, PAGES = 100, 100

local now, keep, default, seconds, life, first = number(), text(), text(), number(), number(), text()
expect('hash', 'stream', 'string')
local newest = tonumber(redis.call('GET', KEYS[3]) or 0) or 0
if redis.call('EXISTS', KEYS[1]) == 0 then
  newest = math.max(newest + 1, now * 1000)
  local last = string.format('%.0f', newest)
  redis.call('DEL', KEYS[2])
  redis.call('SET', KEYS[3], last)
  redis.call('HSET', KEYS[1], 'keep', default, 'confirmed', 0)
  -- The stream must exist, because its end is set here and nowhere else.
  redis.call('XADD', KEYS[2], last .. '-0', 'e', '[' .. first .. ']', 't', string.format('%.0f', now))
end
if keep ~= '' then redis.call('HSET', KEYS[1], 'keep', keep) end
for _ = 1, PAGES do
  local oldest
  for _, entry in ipairs(redis.call('XRANGE', KEYS[2], '-', '+', 'COUNT', PAGE)) do
    oldest = entry
    if tonumber(entry[2][4]) >= now - life then break end
  end
  if not oldest then break end
  local isOld = tonumber(oldest[2][4]) < now - life
  local kept = math.min(tonumber(string.match(oldest[1], '^%d+')) + (isOld and 1 or 0), newest)
  redis.call('XTRIM', KEYS[2], 'MINID', string.format('%.0f', kept))
  if not isOld or kept == newest then break end
end
for i = 1, 2 do redis.call('EXPIRE', KEYS[i], seconds) end
return { string.format('%.0f', newest), redis.call('HGET', KEYS[1], 'confirmed') }
