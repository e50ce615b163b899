-- Strikes an owner off. Gives 0 when it holds a job, is claimed or is unknown: then nothing changes.
--
-- KEYS  leases, hosts, working and arriving of each of its queues.
-- ARGV  owner, oldest claim that is still remembered (minus ms) or "" for one that is not claimed; number of marks to
--       forget of each queue, and the marks.
-- include: arguments

local owner, claimedUntil = text(), number()
for i = 1, #KEYS, 4 do
  for j, kind in ipairs({ 'zset', 'hash', 'hash', 'list' }) do
    if wrong(KEYS[i + j - 1], kind) then return redis.error_reply(unusable(KEYS[i + j - 1])) end
  end
  local ends = tonumber(redis.call('ZSCORE', KEYS[i], owner) or 'nan')
  local may = claimedUntil and ends > claimedUntil and ends < 0 or (not claimedUntil and ends >= 0)
  if not may then return 0 end
  local marks = number()
  for _ = 1, marks do
    local mark = text()
    if redis.call('HGET', KEYS[i + 2], mark) == '' then redis.call('HDEL', KEYS[i + 2], mark) end
  end
  if redis.call('EXISTS', KEYS[i + 2], KEYS[i + 3]) > 0 then return 0 end
end
for i = 1, #KEYS, 4 do
  redis.call('ZREM', KEYS[i], owner)
  redis.call('HDEL', KEYS[i + 1], owner)
end
return 1
