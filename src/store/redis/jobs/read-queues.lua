-- Reads the lengths and the next jobs of many queues in one call. A key of the wrong type counts as empty.
--
-- KEYS  are the lists of queues and priorities.
-- Returns of each list its length, and the text of the job that is fetched next.
-- include: arguments

local answer = {}
for _, key in ipairs(KEYS) do
  local length = redis.pcall('LLEN', key)
  local isList = type(length) == 'number'
  answer[#answer + 1] = isList and length or 0
  answer[#answer + 1] = isList and redis.call('LINDEX', key, -1)
end
return answer
