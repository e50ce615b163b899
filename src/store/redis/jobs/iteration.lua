-- Keeps the progress of an iterable job in Sidekiq's hash, with the fields ex, c, rt and cancelled.

local KEPT_SECONDS = 2592000

-- Keeps it for thirty days from the first time on.
local function keepIteration(key)
  if redis.call('TTL', key) < 0 then redis.call('EXPIRE', key, KEPT_SECONDS) end
end

-- Returns false, and changes nothing, when a later execution has saved.
local function saveIteration(key, executions, cursor, runtime)
  if (tonumber(redis.call('HGET', key, 'ex') or 0) or 0) > executions then return false end
  redis.call('HSET', key, 'ex', executions, 'c', cursor, 'rt', runtime)
  keepIteration(key)
  return true
end
