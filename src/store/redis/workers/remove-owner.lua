-- Removes an owner that holds no job.
--
-- KEYS  1 is leases, 2 is the owner, 3 is its machine; then working, arriving and settled of each of its queues.
-- ARGV  are the owner, the oldest claim that is still remembered (minus ms) or "" for an owner that is not claimed.
-- Returns 1; 0 when the owner holds a job, is claimed or is unknown: then nothing changes.
-- include: arguments

local owner, claimedUntil = text(), number()
expect('zset', 'hash', 'hash')
for i = 4, #KEYS, 3 do
  for j, kind in ipairs({ 'hash', 'list', 'set' }) do refuse(wrong(KEYS[i + j - 1], kind)) end
end
local stamp = tonumber(redis.call('ZSCORE', KEYS[1], owner) or 'nan')
local may = claimedUntil and stamp > claimedUntil and stamp < 0 or (not claimedUntil and stamp >= 0)
if not may then return 0 end
for i = 4, #KEYS, 3 do
  if redis.call('EXISTS', KEYS[i], KEYS[i + 1]) > 0 then return 0 end
end
redis.call('ZREM', KEYS[1], owner)
redis.call('HDEL', KEYS[3], owner)
redis.call('DEL', KEYS[2])
for i = 4, #KEYS, 3 do redis.call('DEL', KEYS[i + 2]) end
return 1
