-- Reads events with their texts.
--
-- KEYS  1 to 11 the task (ledger.lua).
-- ARGV  indexes.
-- Gives createdAt; then of each event that there is: index, place, status, run, step, started, finished, number in the
-- source as one text with spaces; arguments, source, code, result, messages, class.
-- include: arguments ledger waiting

local key = wrongTask(1)
if key then return redis.error_reply(unusable(key)) end
local book = bookOf(1)
if not book then return {} end
local answer = { string.format('%d', book.created) }
for i = 1, #ARGV do
  local index = number()
  local event = eventOf(book, index)
  if event then
    answer[#answer + 1] = string.format('%d %d %d %d %d %d %d %d', index, event.place, event.status, event.run,
      event.step, event.started, event.finished, event.row)
    local texts = redis.call('HMGET', KEYS[3], 'a' .. index, 's' .. index, 'c' .. index, 'r' .. index, 'm' .. index,
      'j' .. index)
    if not texts[1] and index >= book.next and not isDropped(book, event.status) then
      local args, source = waitingRow(book, index)
      if args then texts[1], texts[2] = args, source ~= '' and source end
    end
    for j = 1, 6 do answer[#answer + 1] = texts[j] end
  end
end
return answer
