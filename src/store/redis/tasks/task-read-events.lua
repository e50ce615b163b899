-- Reads events with their texts.
--
-- KEYS  1 to 11 are the keys of the task (ledger.lua).
-- ARGV  are indexes.
-- Returns createdAt; then of each existing event: one text with index, location, status, run, step, started, finished
-- and number in the source, divided by spaces; then arguments, source, code, result, messages, class, deferral, number of rows
-- that it has added.
-- include: arguments ledger backlog

local LETTERS = { 'a', 's', 'c', 'r', 'm', 'j', 'd', 'k' }

refuse(wrongTask(1))
local ledger = ledgerOf(1)
if not ledger then return {} end
local found, fields = {}, {}
for i = 1, #ARGV do
  local event = eventOf(ledger, number())
  if event then
    found[#found + 1] = event
    for _, letter in ipairs(LETTERS) do fields[#fields + 1] = letter .. ARGV[i] end
  end
end
if #found == 0 then return { string.format('%d', ledger.createdAt) } end

-- Reads the texts of all events with one command.
local texts = redis.call('HMGET', KEYS[3], unpack(fields))
local answer = { string.format('%d', ledger.createdAt) }
for i, event in ipairs(found) do
  answer[#answer + 1] = string.format('%d %d %d %d %d %d %d %d', event.index, event.location, event.status, event.run,
    event.step, event.started, event.finished, event.row)
  local first = (i - 1) * #LETTERS + 1
  if not texts[first] and event.index >= ledger.next and not isDropped(ledger, event.status) then
    local args, source = backlogRow(ledger, event.index)
    if args then texts[first], texts[first + 1] = args, source ~= '' and source end
  end
  for j = first, first + #LETTERS - 1 do answer[#answer + 1] = texts[j] end
end
return answer
