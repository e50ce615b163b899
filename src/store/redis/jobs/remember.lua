-- Keeps a value for a while, if there is none or a given one.
--
-- KEYS  1 is the key.
-- ARGV  are the value, milliseconds (0: nothing is kept), "=" and the value that may be replaced, or "".
-- Returns nothing; or the value that is there and stays.
-- include: arguments

expect('string')
local value, life, instead = text(), number(), text()
local known = redis.call('GET', KEYS[1])
if known and '=' .. known ~= instead then return known end
if life > 0 then
  redis.call('SET', KEYS[1], value, 'PX', life)
elseif known then
  redis.call('DEL', KEYS[1])
end
return false
