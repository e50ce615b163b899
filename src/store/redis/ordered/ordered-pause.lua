-- Pauses or resumes an ordered queue.
--
-- KEYS  as in ordered-open.lua.
-- ARGV  begin as there; then comes "1" or "".
-- Returns 1.
-- include: arguments ordered-open ordered-notify ordered-opened

if text() == '' then redis.call('HDEL', QUEUE, 'paused') else redis.call('HSET', QUEUE, 'paused', '1') end
notifyMembers()
return 1
