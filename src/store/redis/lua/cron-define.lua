-- Says how a process defines an entry, and that it lives. Gives 1; 0 when the entry stands otherwise than was known.
--
-- KEYS  1 names of entries, 2 the entry.
-- ARGV  seconds, name, text as it is known to stand ("": not at all), its text, tick of another text or "" (it goes on
--       where it was).
-- include: arguments clock

local ends = string.format('%d', clock() + math.floor(number() * 1000))
local name, old, new, tick = text(), text(), text(), text()
if wrong(KEYS[1], 'set') then return redis.error_reply(unusable(KEYS[1])) end
if wrong(KEYS[2], 'hash') then return redis.error_reply(unusable(KEYS[2])) end
if (redis.call('HGET', KEYS[2], 'text') or '') ~= old then return 0 end
-- At its memory limit the server refuses a script whose first write may grow: this one removes.
redis.call('SREM', KEYS[1], '')
redis.call('SADD', KEYS[1], name)
redis.call('HSET', KEYS[2], 'text', new, 'ends', ends)
-- What was decided stays so.
local decided = tonumber(redis.call('HGET', KEYS[2], 'tick') or '') or -1
if new ~= old and tick ~= '' and tonumber(tick) > decided then redis.call('HSET', KEYS[2], 'tick', tick) end
return 1
