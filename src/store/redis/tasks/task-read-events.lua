-- Reads events with their texts.
--
-- KEYS  1 to 11 are the keys of the task (ledger.lua).
-- ARGV  1 is the letters (ledger.lua) of the texts to read of working rows only, 2 is the letters of the texts to read of every
--       row, "a" and "s" first. The others are indexes.
-- Returns createdAt; then of each existing event: one text with index, location, status, run, step, started, finished
-- and number in the source, divided by spaces; then a text or nothing for each letter.
-- include: arguments ledger backlog

local WORKING = 1
-- The fields of an event that tell whether it has such a text.
local BITS = { s = 'source', c = 'code', r = 'result' }

refuse(wrongTask(1))
local ofWorking, ofEach = text(), text()
local ledger = ledgerOf(1)
if not ledger then return {} end
local letters = {}
for letter in string.gmatch(ofWorking .. ofEach, '.') do letters[#letters + 1] = letter end
local isMixed = redis.call('HGET', KEYS[1], 'mixed')

-- The text of `fields[i]` goes to `answer[places[i]]`. `at` and `n` are their lengths: Lua's length operator is slow in a loop.
local answer, at, fields, places, n, unread = { string.format('%d', ledger.createdAt) }, 1, {}, {}, 0, {}
for i = position + 1, #ARGV do
  local event = eventOf(ledger, tonumber(ARGV[i]))
  if event then
    answer[at + 1] = string.format('%d %d %d %d %d %d %d %d', event.index, event.location, event.status, event.run,
      event.step, event.started, event.finished, event.row)
    at = at + 1
    if event.index >= ledger.next and not isDropped(ledger, event.status) then
      unread[#unread + 1] = { index = event.index, place = at + #ofWorking + 1 }
    end
    for j, letter in ipairs(letters) do
      at = at + 1
      answer[at] = false
      local bit = BITS[letter]
      local isWanted = j > #ofWorking or event.status == WORKING
      -- Only a mixed task has rows with a class.
      if isWanted and (not bit or event[bit] == 1) and (letter ~= 'j' or isMixed) then
        n = n + 1
        fields[n], places[n] = letter .. ARGV[i], at
      end
    end
  end
end
if n == 0 then return answer end

-- Reads the texts of all events with one command.
local texts = redis.call('HMGET', KEYS[3], unpack(fields))
for i = 1, n do answer[places[i]] = texts[i] end
for _, one in ipairs(unread) do
  local args, source = false, ''
  if not answer[one.place] then args, source = backlogRow(ledger, one.index) end
  if args then answer[one.place], answer[one.place + 1] = args, source ~= '' and source end
end
return answer
