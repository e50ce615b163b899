-- Changes members of batches without a job.
--
-- KEYS  1 is queues.
-- ARGV  begin as in moves-open.lua; then come the effects as in moves.lua.
-- Returns for each whether its member was open (1).
-- include: arguments ledger backlog closing iteration cancellations record unique batches slots sets moves moves-open

local effects = readEffects()
for _, effect in ipairs(effects) do
  local problem = obstacleOf(effect)
  if problem then return redis.error_reply(problem) end
end
local wereOpen = {}
for i, effect in ipairs(effects) do
  wereOpen[i] = redis.call('HEXISTS', batchKey('hk:batch:' .. effect.batch .. ':members'), effect.member)
  applyEffect(effect)
end
finish(channel)
return wereOpen
