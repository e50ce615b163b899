-- Withdraws cancellations.
--
-- They are a sorted set: job → its score. Of a cancelled job it is the version, a multiple of 16 and about ms of the server's
-- clock, plus the number of callers who requested it besides the first one, at most 15, or plus 0.5 when the request is brief.
-- The score of a job that was found and dropped is minus the time of that: an odd number (droppedAt) if the job was running, else
-- an even one.

-- Withdraws a cancellation and returns what it was: m (requested), d (dropped), b (dropped while it ran) or n (none).
-- The job was dropped now if `dropped` is "d" or "b". With `version` it withdraws only one caller's request.
local function withdrawCancellation(cancelled, iteration, jid, dropped, version)
  local score = tonumber(redis.call('ZSCORE', cancelled, jid) or 0)
  if score == 0 then return 'n' end
  if score < 0 then return score % 2 == 0 and 'd' or 'b' end
  local others, own = math.floor(score % 16), score - score % 16
  if version and own ~= version then return 'm' end
  if version and others > 0 then
    if others < 15 then redis.call('ZINCRBY', cancelled, -1, jid) end
    return 'm'
  end
  redis.call('ZREM', cancelled, jid)
  if dropped ~= '' then redis.call('ZADD', cancelled, droppedAt(dropped == 'b'), jid) end
  -- A cancellation of another program stays. The key may hold any type.
  if redis.pcall('HGET', iteration, 'cancelled') == string.format('%d', math.floor(own / 1000)) then
    redis.call('HDEL', iteration, 'cancelled')
  end
  return 'm'
end
