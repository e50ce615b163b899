-- Ends all links of a task: raises the version that new links name.
--
-- KEYS  as in task-open.lua.
-- ARGV  begin as there.
-- Returns 1; 0 when there is no such task.
-- include: arguments ledger backlog closing task-open

if not ledger then return 0 end
removeNothing('HDEL', KEYS[1])
redis.call('HINCRBY', KEYS[1], 'linkVersion', 1)
return 1
