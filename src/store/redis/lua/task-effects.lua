-- Changes events whose jobs are nowhere to be moved.
--
-- KEYS  1 queues; then the keys that effects name.
-- ARGV  now (ms), wake channel, the effects (moves.lua).
-- include: arguments ledger waiting closing iteration clock marks moves

QUEUES = KEYS[1]
now = number()
local channel = text()
local effects = readEffects()
for _, effect in ipairs(effects) do
  local line = obstacleOf(effect)
  if line then return redis.error_reply(line) end
end
-- At its memory limit the server refuses a script whose first write may grow: this one removes nothing.
redis.call('SREM', QUEUES, '')
for _, effect in ipairs(effects) do takeEffect(effect) end
finish(channel)
