-- Defines a cron entry for a process that lives.
--
-- KEYS  1 is the names of entries, 2 is the entry.
-- ARGV  are seconds for which the process lives, name, the text that the process knows ("": no entry), the new text,
--       the tick of a changed text or "" (the tick stays).
-- Returns 1; 0 when the entry has another text than the process knows.
-- include: arguments

local ends = string.format('%d', clock() + math.floor(number() * 1000))
local name, old, new, tick = text(), text(), text(), text()
expect('set', 'hash')
if (redis.call('HGET', KEYS[2], 'text') or '') ~= old then return 0 end
removeNothing('SREM', KEYS[1])
redis.call('SADD', KEYS[1], name)
redis.call('HSET', KEYS[2], 'text', new, 'ends', ends)
-- A decided tick stays decided.
local decided = tonumber(redis.call('HGET', KEYS[2], 'tick') or '') or -1
if new ~= old and tick ~= '' and tonumber(tick) > decided then redis.call('HSET', KEYS[2], 'tick', tick) end
return 1
