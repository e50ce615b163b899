-- Iterations: how far the job of a hash has come. Its fields are Sidekiq's: ex, c, rt, cancelled.

local KEPT_SECONDS = 2592000

-- Thirty days from the first time on, whatever comes later.
local function keepIteration(key)
  if redis.call('TTL', key) < 0 then redis.call('EXPIRE', key, KEPT_SECONDS) end
end

-- False: a later execution has saved, and nothing changes.
local function saveIteration(key, executions, cursor, runtime)
  if (tonumber(redis.call('HGET', key, 'ex') or 0) or 0) > executions then return false end
  redis.call('HSET', key, 'ex', executions, 'c', cursor, 'rt', runtime)
  keepIteration(key)
  return true
end
