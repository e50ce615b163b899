-- Lists running jobs of a process, and removes others.
--
-- KEYS  1 is the running jobs of the process.
-- ARGV  are milliseconds for which they are listed, number of slots to remove, and these slots; then the slots of running jobs
--       and their texts.
-- include: arguments

local ms, ended = text(), number()
expect('hash')
removeNothing('HDEL', KEYS[1])
for _ = 1, ended do redis.call('HDEL', KEYS[1], text()) end
for i = position + 1, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
redis.call('PEXPIRE', KEYS[1], ms)
