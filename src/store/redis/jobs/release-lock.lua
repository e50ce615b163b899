-- Releases a lock of a cron entry, if this job holds it.
--
-- KEYS  1 is the lock.
-- ARGV  is the holder.
-- include: arguments

expect('string')
if redis.call('GET', KEYS[1]) == text() then redis.call('DEL', KEYS[1]) end
return 1
