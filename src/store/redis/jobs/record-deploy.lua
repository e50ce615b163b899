-- Records a deploy at a minute, once for all processes that report it.
--
-- KEYS  1 is the lock of the label, 2 is the deploys of the day.
-- ARGV  are the minute, label, seconds for which the lock is kept, and the deploys.
-- Returns 1; 0 when another process was faster.
-- include: arguments

expect('string', 'hash')
local minute, label = text(), text()
if not redis.call('SET', KEYS[1], minute, 'EX', text(), 'NX') then return 0 end
local first = redis.call('HSETNX', KEYS[2], minute, label)
redis.call('EXPIRE', KEYS[2], text())
return first
