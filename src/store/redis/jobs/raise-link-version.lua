-- Raises the version of the links to a list of tasks.
--
-- KEYS  1 is the versions (hash: list → version).
-- ARGV  are the list, and the least version that it then has; 0: one more than before.
-- include: arguments

expect('hash')
local list, least = text(), number()
local version = tonumber(redis.call('HGET', KEYS[1], list) or 0)
removeNothing('HDEL', KEYS[1])
if least == 0 then least = version + 1 end
if least > version then redis.call('HSET', KEYS[1], list, string.format('%d', least)) end
