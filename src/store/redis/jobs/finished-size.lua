-- Counts the finished jobs: those of the set, and those of packs.
--
-- KEYS  are those of finished-packs.lua.
-- Returns their number.
-- include: arguments finished-packs

expect('zset', 'stream', 'string')
return redis.call('ZCARD', KEYS[1]) + packedFrom(packAfter(0))
