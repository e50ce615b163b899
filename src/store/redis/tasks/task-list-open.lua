-- Lists tasks whose scores are in a range: queue by queue, the lowest scores first, which are those without progress for longest.
--
-- KEYS  are the sorted sets of the tasks of queues (the ninth keys of ledger.lua). One of the wrong type counts as empty.
-- ARGV  are the least score, the score that all are below, the most tasks, and score and id of the task behind which the list
--       begins in the first set.
-- Returns of each task the position of its set in KEYS, its score and its id.
-- include: arguments rank

local least, before, most, score, id = text(), number(), number(), text(), text()
local answer = {}
for i, key in ipairs(KEYS) do
  local left = most - #answer / 3
  if left <= 0 then break end
  if not wrong(key, 'zset') then
    local first = i == 1 and rankOf(key, score, id, true) or rankOf(key, least, '', true)
    local page = redis.call('ZRANGE', key, first, first + left - 1, 'WITHSCORES')
    for j = 1, #page, 2 do
      if tonumber(page[j + 1]) >= before then break end
      for _, value in ipairs({ i, page[j + 1], page[j] }) do answer[#answer + 1] = value end
    end
  end
end
return answer
