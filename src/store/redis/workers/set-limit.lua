-- Changes the numbers that were set of a limit, and moves the version of the cancellations on, so that workers read them.
--
-- KEYS  1 is set-limits, 2 is the version of cancellations.
-- ARGV  are the name, 1 if numbers that were set before must stay, and the new slots, starts, period and burst: each a number,
--       "-" (that of the code) or "" (unchanged).
-- Returns 1; 0: nothing was to change; -1: a burst without a rate would be set, and nothing changed.
-- include: arguments

local name, onlyIfUnset = text(), number() == 1
expect('hash', 'string')
local before = redis.call('HGET', KEYS[1], name)
if before and onlyIfUnset then return 0 end
local numbers, isSet = {}, false
for old in string.gmatch(before or '- - - -', '%S+') do
  local new = text()
  numbers[#numbers + 1] = new == '' and old or new
  isSet = isSet or numbers[#numbers] ~= '-'
end
if numbers[4] ~= '-' and numbers[2] == '-' then return -1 end
if isSet then
  redis.call('HSET', KEYS[1], name, table.concat(numbers, ' '))
elseif redis.call('HDEL', KEYS[1], name) == 0 then
  return 0
end
redis.call('SET', KEYS[2], string.format('%d', math.max(clock(), tonumber(redis.call('GET', KEYS[2]) or 0) + 1)))
return 1
