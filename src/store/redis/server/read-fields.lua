-- Reads the same fields of many hashes in one call.
--
-- KEYS  are the hashes.
-- ARGV  are the fields.
-- Returns of each hash the values of the fields.
-- include: arguments

local answer = {}
for i, key in ipairs(KEYS) do
  local values = redis.pcall('HMGET', key, unpack(ARGV))
  refuse(values.err and key)
  answer[i] = values
end
return answer
