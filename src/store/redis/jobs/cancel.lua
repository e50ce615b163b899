-- Cancels a job; see cancellations.lua. The state of its iteration is kept for `seconds`. With `briefMs` a new request
-- ends after this time. Returns the version.
local function cancel(cancelled, newest, iteration, jid, seconds, briefMs)
  local score = tonumber(redis.call('ZSCORE', cancelled, jid) or 0)
  local version, isBrief = score - score % 16, score % 1 > 0
  local function flag() return string.format('%d', math.floor(version / 1000)) end
  if isBrief and redis.call('HGET', iteration, 'cancelled') == flag() then redis.call('HDEL', iteration, 'cancelled') end
  if score <= 0 or isBrief then
    version = math.max(clock(), tonumber(redis.call('GET', newest) or 0) + 1)
    version = version + -version % 16
    redis.call('SET', newest, string.format('%d', version))
    redis.call('ZADD', cancelled, string.format(briefMs and '%d.5' or '%d', version), jid)
  elseif not briefMs and score % 16 < 15 then
    redis.call('ZINCRBY', cancelled, 1, jid)
  end
  local isNew = redis.call('HSETNX', iteration, 'cancelled', flag()) == 1
  if isNew and briefMs and redis.call('HLEN', iteration) == 1 then
    redis.call('PEXPIRE', iteration, briefMs)
  elseif redis.call('TTL', iteration) < 0 then
    redis.call('EXPIRE', iteration, seconds)
  end
  return version
end
