-- Cancels a job; see cancellations.lua. The state of its iteration is kept for so many seconds. Returns the version.
local function cancel(cancelled, newest, iteration, jid, seconds)
  local version = tonumber(redis.call('ZSCORE', cancelled, jid) or 0)
  if version <= 0 then
    version = math.max(clock(), tonumber(redis.call('GET', newest) or 0) + 1)
    version = version + -version % 16
    redis.call('SET', newest, string.format('%d', version))
    redis.call('ZADD', cancelled, string.format('%d', version), jid)
  elseif version % 16 < 15 then
    redis.call('ZINCRBY', cancelled, 1, jid)
  end
  version = version - version % 16
  redis.call('HSETNX', iteration, 'cancelled', string.format('%d', math.floor(version / 1000)))
  if redis.call('TTL', iteration) < 0 then redis.call('EXPIRE', iteration, seconds) end
  return version
end
