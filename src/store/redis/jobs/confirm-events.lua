-- Marks the recording as known to all processes.
--
-- KEYS  1 to 3 are the keys of record.lua.
-- Returns the newest number as a text; nil without a recording.
-- include: arguments

expect('hash', 'stream', 'string')
if redis.call('EXISTS', KEYS[1]) == 0 then return false end
redis.call('HSET', KEYS[1], 'confirmed', 1)
return redis.call('GET', KEYS[3])
