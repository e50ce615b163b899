-- Sets numbers of a limit, and moves the version of the cancellations on, so that workers read what was set.
--
-- KEYS  1 is set-limits, 2 is the version of cancellations.
-- ARGV  are the name, and its numbers (rates.lua); "": those of the code hold again.
-- include: arguments

local name, numbers = text(), text()
expect('hash', 'string')
if numbers == '' then
  redis.call('HDEL', KEYS[1], name)
else
  redis.call('HSET', KEYS[1], name, numbers)
end
redis.call('SET', KEYS[2], string.format('%d', math.max(clock(), tonumber(redis.call('GET', KEYS[2]) or 0) + 1)))
return 1
