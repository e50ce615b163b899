-- Removes a cron entry.
--
-- KEYS  1 is the names of entries, 2 is the entry.
-- ARGV  is the name.
-- Returns 1; 0 when there was no such entry.
-- include: arguments

expect('set', 'hash')
local known = redis.call('DEL', KEYS[2])
redis.call('SREM', KEYS[1], text())
return known
