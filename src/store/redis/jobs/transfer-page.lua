-- Reads the page of jobs that is held for another store.
--
-- The page is a hash: `transfer`, `number`, `target`. Its jobs are a list, without which no page is held; of each job:
-- "queue" or the name of its set, its queue or its score, its text.

local function isPage(page, transfer, n)
  local held = redis.call('HMGET', page, 'transfer', 'number')
  return held[1] == transfer and tonumber(held[2]) == n
end

-- Returns transfer, number, target, and the jobs; nothing when no page is held.
local function heldPage(page, jobs)
  if redis.call('EXISTS', jobs) == 0 then return {} end
  local answer = redis.call('HMGET', page, 'transfer', 'number', 'target')
  for _, part in ipairs(redis.call('LRANGE', jobs, 0, -1)) do answer[#answer + 1] = part end
  return answer
end
