-- Moves finished jobs from the oldest packs into the set, where they are read.
--
-- KEYS  are those of finished-packs.lua.
-- ARGV  is about how many jobs it moves.
-- Returns 1 if there are more packs.
-- include: arguments finished-packs

expect('zset', 'stream', 'string')
return unpackOldest(number()) and 1 or 0
