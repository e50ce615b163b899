-- Reads events.
--
-- KEYS  1 to 3 are the keys of record.lua.
-- ARGV  are a number, from which on it reads, and the most entries.
-- Returns the newest number as a text, and the entries; or nil without a recording.
-- include: arguments

local first, most = text(), text()
expect('hash', 'stream', 'string')
if redis.call('EXISTS', KEYS[1]) == 0 then return false end
return { redis.call('GET', KEYS[3]), redis.call('XRANGE', KEYS[2], first .. '-0', '+', 'COUNT', most) }
