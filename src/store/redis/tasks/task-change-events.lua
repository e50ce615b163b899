-- Changes events whose jobs do not move.
--
-- KEYS  1 is queues; then the keys that effects name.
-- ARGV  begin as in moves-open.lua; then come the effects (moves.lua).
-- include: arguments ledger backlog closing iteration cancellations record unique batches slots sets moves moves-open

local effects = readEffects()
for _, effect in ipairs(effects) do
  local problem = obstacleOf(effect)
  if problem then return redis.error_reply(problem) end
end
removeNothing('SREM', QUEUES)
for _, effect in ipairs(effects) do applyEffect(effect) end
finish(channel)
