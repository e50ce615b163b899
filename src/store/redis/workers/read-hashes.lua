-- Reads many hashes in one call.
--
-- KEYS  are the hashes.
-- ARGV  are what a key of the wrong type is: "empty", or "error".
-- Returns of each hash its fields and values by turns.
-- include: arguments

local ofWrongType = text()
local answer = {}
for i, key in ipairs(KEYS) do
  local fields = redis.pcall('HGETALL', key)
  refuse(fields.err and ofWrongType == 'error' and key)
  answer[i] = fields.err and {} or fields
end
return answer
