-- Claims the owners whose leases version 0.1 kept in each queue, and deletes the old keys.
--
-- KEYS  1 is leases; then the old leases and hosts of each queue.
-- ARGV  are the beginning of the keys of owners, names of the queues.
-- Returns nothing. When a lease has not ended it changes nothing and returns the last lease to end: owner, queue and
-- the milliseconds left.
-- include: arguments clock

local stem = text()
local time = clock()
if wrong(KEYS[1], 'zset') then return redis.error_reply(unusable(KEYS[1])) end
local found, last = {}, nil
for i = 2, #ARGV do
  local key, hosts = KEYS[2 * i - 2], KEYS[2 * i - 1]
  if wrong(key, 'zset') then return redis.error_reply(unusable(key)) end
  if wrong(hosts, 'hash') then return redis.error_reply(unusable(hosts)) end
  found[i] = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
  for j = 1, #found[i], 2 do
    local owner, left = found[i][j], tonumber(found[i][j + 1]) - time
    if wrong(stem .. owner, 'hash') then return redis.error_reply(unusable(stem .. owner)) end
    if left > 0 and (not last or left > last[3]) then last = { owner, ARGV[i], left } end
  end
end
if last then return last end

for i = 2, #ARGV do
  redis.call('DEL', KEYS[2 * i - 2], KEYS[2 * i - 1])
  for j = 1, #found[i], 2 do
    local owner, ends = found[i][j], tonumber(found[i][j + 1])
    redis.call('ZADD', KEYS[1], 'NX', string.format('%d', ends < 0 and ends or -time), owner)
    redis.call('HSET', stem .. owner, 'q ' .. ARGV[i], '')
  end
end
return false
