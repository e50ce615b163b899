-- Changes events whose jobs do not move.
--
-- KEYS  1 is queues; then the keys that effects name.
-- ARGV  are now (ms), the channel for due jobs, the effects (moves.lua).
-- include: arguments ledger backlog closing iteration clock cancellations moves

QUEUES = KEYS[1]
now = number()
local channel = text()
local effects = readEffects()
for _, effect in ipairs(effects) do
  local problem = obstacleOf(effect)
  if problem then return redis.error_reply(problem) end
end
-- A server at its memory limit allows this script, because the first write is a removal (of nothing).
redis.call('SREM', QUEUES, '')
for _, effect in ipairs(effects) do applyEffect(effect) end
finish(channel)
