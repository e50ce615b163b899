-- Makes the stamps of renewals. Each is greater than all before it, so that two observations of a lease can be
-- compared even when the server's clock was set between them.

local function nextStamp(key)
  local stamp = math.max(clock(), (tonumber(redis.call('GET', key) or 0) or 0) + 1)
  redis.call('SET', key, string.format('%d', stamp))
  return string.format('%d', stamp)
end
