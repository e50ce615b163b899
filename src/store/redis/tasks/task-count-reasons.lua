-- Counts the rejected rows of a task by status and code.
--
-- KEYS  1 to 11 are the keys of the task (ledger.lua).
-- ARGV  are the numbers of the statuses.
-- Returns of each status and code that has rows: the number of the status, which rows ("code", "none" or "others", as in
-- task-list-rejected.lua), the code, and the number of rows.
-- include: arguments ledger

local BY_SLOT = 4294967296

refuse(wrongTask(1))
local answer = {}
local function count(status, slot, which, code)
  local first = (tonumber(status) * 256 + tonumber(slot)) * BY_SLOT
  local n = redis.call('ZCOUNT', KEYS[4], first, first + BY_SLOT - 1)
  if n == 0 then return end
  for _, value in ipairs({ status, which, code, n }) do answer[#answer + 1] = value end
end

local slots = redis.call('HGETALL', KEYS[6])
for i = 1, #slots, 2 do
  local status, code = string.match(slots[i], '^(%d):(.*)$')
  if status then count(status, slots[i + 1], 'code', code) end
end
for _, status in ipairs(ARGV) do
  count(status, 0, 'none', '')
  count(status, OTHER_CODES, 'others', '')
end
return answer
