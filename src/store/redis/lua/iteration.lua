-- Iterations: how far the job of a hash has come. Its fields are Sidekiq's: ex, c, rt, cancelled.

local KEPT_SECONDS = 2592000

-- Thirty days from the first time on, whatever comes later.
local function keepIteration(key)
  if redis.call('TTL', key) < 0 then redis.call('EXPIRE', key, KEPT_SECONDS) end
end

local function saveIteration(key, executions, cursor, runtime)
  redis.call('HSET', key, 'ex', executions, 'c', cursor, 'rt', runtime)
  keepIteration(key)
end
