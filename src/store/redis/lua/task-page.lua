-- Reads events with their texts.
--
-- KEYS  1 to 11 the task (ledger.lua).
-- ARGV  indexes.
-- Gives createdAt; then of each event that there is: index, place, status, run, step, started, finished, number in the
-- source as one text with spaces; arguments, source, code, result, messages, class.
-- include: arguments ledger waiting

local LETTERS = { 'a', 's', 'c', 'r', 'm', 'j' }

local key = wrongTask(1)
if key then return redis.error_reply(unusable(key)) end
local book = bookOf(1)
if not book then return {} end
local found, fields = {}, {}
for i = 1, #ARGV do
  local event = eventOf(book, number())
  if event then
    found[#found + 1] = event
    for _, letter in ipairs(LETTERS) do fields[#fields + 1] = letter .. ARGV[i] end
  end
end
if #found == 0 then return { string.format('%d', book.created) } end

-- The texts of all of them in one go.
local texts = redis.call('HMGET', KEYS[3], unpack(fields))
local answer = { string.format('%d', book.created) }
for i, event in ipairs(found) do
  answer[#answer + 1] = string.format('%d %d %d %d %d %d %d %d', event.index, event.place, event.status, event.run,
    event.step, event.started, event.finished, event.row)
  local first = (i - 1) * #LETTERS + 1
  if not texts[first] and event.index >= book.next and not isDropped(book, event.status) then
    local args, source = waitingRow(book, event.index)
    if args then texts[first], texts[first + 1] = args, source ~= '' and source end
  end
  for j = first, first + #LETTERS - 1 do answer[#answer + 1] = texts[j] end
end
return answer
