-- Removes a cron entry.
--
-- KEYS  1 is the names of entries, 2 is the entry.
-- ARGV  is the name.
-- Returns 1; 0 when there was no such entry.
-- include: arguments

if wrong(KEYS[1], 'set') then return redis.error_reply(unusable(KEYS[1])) end
if wrong(KEYS[2], 'hash') then return redis.error_reply(unusable(KEYS[2])) end
local known = redis.call('DEL', KEYS[2])
redis.call('SREM', KEYS[1], text())
return known
