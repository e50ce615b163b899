-- Lists tasks that have not ended and are not being cancelled: queue by queue, those without progress for longest first.
--
-- KEYS  are the sorted sets of the tasks of queues (the ninth keys of ledger.lua). One of the wrong type counts as empty.
-- ARGV  are a time that their last progress is before, the most tasks, and score and id of the task behind which the list
--       begins in the first set.
-- Returns of each task the position of its set in KEYS, its score and its id.
-- include: arguments rank

-- Tasks that have ended or are being cancelled have a lower score.
local ENDED_BELOW = '0.5'

local before, most, score, id = number(), number(), text(), text()
local answer = {}
for i, key in ipairs(KEYS) do
  local left = most - #answer / 3
  if left <= 0 then break end
  if not wrong(key, 'zset') then
    local first = i == 1 and rankOf(key, score, id, true) or rankOf(key, ENDED_BELOW, '', true)
    local page = redis.call('ZRANGE', key, first, first + left - 1, 'WITHSCORES')
    for j = 1, #page, 2 do
      if tonumber(page[j + 1]) >= before then break end
      for _, value in ipairs({ i, page[j + 1], page[j] }) do answer[#answer + 1] = value end
    end
  end
end
return answer
