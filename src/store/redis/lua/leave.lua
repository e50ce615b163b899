-- Strikes an owner off. Gives 0 when it holds a job, is claimed or is unknown: then nothing changes.
--
-- KEYS  leases, hosts, working, arriving and settled of each of its queues.
-- ARGV  owner, oldest claim that is still remembered (minus ms) or "" for one that is not claimed.
-- include: arguments

local owner, claimedUntil = text(), number()
for i = 1, #KEYS, 5 do
  for j, kind in ipairs({ 'zset', 'hash', 'hash', 'list', 'set' }) do
    if wrong(KEYS[i + j - 1], kind) then return redis.error_reply(unusable(KEYS[i + j - 1])) end
  end
  local ends = tonumber(redis.call('ZSCORE', KEYS[i], owner) or 'nan')
  local may = claimedUntil and ends > claimedUntil and ends < 0 or (not claimedUntil and ends >= 0)
  if not may or redis.call('EXISTS', KEYS[i + 2], KEYS[i + 3]) > 0 then return 0 end
end
for i = 1, #KEYS, 5 do
  redis.call('ZREM', KEYS[i], owner)
  redis.call('HDEL', KEYS[i + 1], owner)
  redis.call('DEL', KEYS[i + 4])
end
return 1
