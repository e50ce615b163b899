-- Lists a process and its running jobs as Sidekiq does, and takes its oldest signal.
--
-- KEYS  1 is the names of processes, 2 is the process, 3 is its running jobs, 4 is its signals.
-- ARGV  are the process, milliseconds for which it is listed, number of its fields, and their names and values; then the slots
--       of its running jobs and their texts.
-- Returns 1 if it was listed, else 0; and the signal, if there is one.
-- include: arguments

local identity, ms, fields = text(), text(), number()
expect('set', 'hash')
refuse(wrong(KEYS[4], 'list'))
local isListed = redis.call('EXISTS', KEYS[2])
-- A server at its memory limit allows this script, because the first write is a removal.
redis.call('UNLINK', KEYS[3])
redis.call('SADD', KEYS[1], identity)
redis.call('HSET', KEYS[2], unpack(ARGV, position + 1, position + 2 * fields))
redis.call('PEXPIRE', KEYS[2], ms)
for i = position + 2 * fields + 1, #ARGV, 2 do redis.call('HSET', KEYS[3], ARGV[i], ARGV[i + 1]) end
redis.call('PEXPIRE', KEYS[3], ms)
return { isListed, redis.call('RPOP', KEYS[4]) }
