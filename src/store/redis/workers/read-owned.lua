-- Reads the jobs that owners hold, owner by owner, until it has enough. A key of the wrong type counts as empty.
--
-- KEYS  are, for each queue of an owner, the hash of its fetched jobs and the list of its arrivals.
-- ARGV  are the number of jobs that are enough.
-- Returns, for each queue of an owner that it read, the number of jobs, and their texts.
-- include: arguments

local enough, found, answer = number(), 0, {}

local function add(texts)
  if texts.err then return 0 end
  for _, one in ipairs(texts) do answer[#answer + 1] = one end
  return #texts
end

for i = 1, #KEYS, 2 do
  if found >= enough then break end
  local at = #answer + 1
  answer[at] = '0'
  -- Most owners hold jobs of few of their queues.
  if redis.call('EXISTS', KEYS[i], KEYS[i + 1]) > 0 then
    local count = add(redis.pcall('HVALS', KEYS[i])) + add(redis.pcall('LRANGE', KEYS[i + 1], 0, -1))
    answer[at] = tostring(count)
    found = found + count
  end
end
return answer
