-- Reads many hashes in one call. A key of the wrong type counts as empty.
--
-- KEYS  are the hashes.
-- Returns of each hash its fields and values by turns.
-- include: arguments

local answer = {}
for i, key in ipairs(KEYS) do
  local fields = redis.pcall('HGETALL', key)
  answer[i] = fields.err and {} or fields
end
return answer
