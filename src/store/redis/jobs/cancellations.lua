-- Withdraws cancellations.
--
-- They are a sorted set: job → version of its cancellation (about ms of the server's clock), or minus the time when
-- the job was found and dropped: an even number, or an odd one (droppedAt) when the job was running.

-- Withdraws a cancellation and returns what it was: m (requested), d (dropped), b (dropped while it ran) or n (none).
-- The job was dropped now if `dropped` is "d" or "b".
local function withdrawCancellation(cancelled, iteration, jid, dropped)
  local version = tonumber(redis.call('ZSCORE', cancelled, jid) or 0)
  if version == 0 then return 'n' end
  if version < 0 then return version % 2 == 0 and 'd' or 'b' end
  redis.call('ZREM', cancelled, jid)
  if dropped ~= '' then redis.call('ZADD', cancelled, droppedAt(dropped == 'b'), jid) end
  -- A cancellation of another program stays. The key may hold any type.
  if redis.pcall('HGET', iteration, 'cancelled') == string.format('%d', math.floor(version / 1000)) then
    redis.call('HDEL', iteration, 'cancelled')
  end
  return 'm'
end
