-- Marks of cancelled jobs: a sorted set, job → the version of its mark (about ms of the server's clock), or minus the
-- time once it was found and dropped.

-- Takes a mark back, and says what it was: m(arked), d(ropped) or n(one).
local function unmark(cancelled, iteration, jid, dropped)
  local version = tonumber(redis.call('ZSCORE', cancelled, jid) or 0)
  if version == 0 then return 'n' end
  if version < 0 then return 'd' end
  redis.call('ZREM', cancelled, jid)
  if dropped then redis.call('ZADD', cancelled, string.format('%d', -clock()), jid) end
  -- What another program has cancelled stays so; and the key may hold anything.
  if redis.pcall('HGET', iteration, 'cancelled') == string.format('%d', math.floor(version / 1000)) then
    redis.call('HDEL', iteration, 'cancelled')
  end
  return 'm'
end
