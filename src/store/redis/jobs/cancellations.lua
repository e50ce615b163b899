-- Withdraws cancellations.
--
-- They are a sorted set: job → version of its cancellation (about ms of the server's clock), or minus the time when
-- the job was found and dropped.

-- Withdraws a cancellation and returns what it was: m (requested), d (dropped) or n (none).
local function withdrawCancellation(cancelled, iteration, jid, dropped)
  local version = tonumber(redis.call('ZSCORE', cancelled, jid) or 0)
  if version == 0 then return 'n' end
  if version < 0 then return 'd' end
  redis.call('ZREM', cancelled, jid)
  if dropped then redis.call('ZADD', cancelled, string.format('%d', -clock()), jid) end
  -- A cancellation of another program stays. The key may hold any type.
  if redis.pcall('HGET', iteration, 'cancelled') == string.format('%d', math.floor(version / 1000)) then
    redis.call('HDEL', iteration, 'cancelled')
  end
  return 'm'
end
