-- Adds rows, if the adder's cursor stands where the chunk begins. Rows, events, counts, cursor and the first jobs come
-- in one step.
--
-- KEYS  1 to 7 the task (ledger.lua), 8 queues.
-- ARGV  now (ms), adder, cursor expected, number of rows; of each: args, number in the source or "", source or "",
--       status (0, or of a rejected row), code or "", number of messages, messages.
-- Gives "ok", total; or the reason why not, cursor.
-- include: arguments ledger

QUEUES = KEYS[8]
now = number()
local adder, from, count = text(), number(), number()
local key = wrongTask(1) or (wrong(QUEUES, 'set') and QUEUES)
if key then return redis.error_reply(unusable(key)) end

local book = bookOf(1)
if not book then return { 'unknown', 0 } end
local at = tonumber(redis.call('HGET', KEYS[1], 'cursor:' .. adder) or 0)
if redis.call('HGET', KEYS[1], 'adder') ~= adder then return { 'taken-over', at } end
if book.state ~= 'adding' and book.state ~= 'paused' then return { 'ended', at } end
if from + count <= at then return { 'ok', book.total } end
if from ~= at then return { 'gap', at } end

local first, records, fields, rejected, told = book.total, {}, {}, {}, {}
for i = 1, count do
  local index = book.total
  local args, row, source, status, code = text(), number(), text(), number(), text()
  local messages = {}
  for j = 1, number() do messages[j] = text() end
  book.total = index + 1
  book.n[status] = book.n[status] + 1
  local event = {
    index = index, status = status, place = PLACED, code = code ~= '' and 1 or 0, result = 0, run = book.run, step = 1,
    started = 0, finished = 0, row = row and row + 1 or 0,
  }
  if status == 0 then
    book.held = book.held + 1
  else
    event.place, event.finished = ELSEWHERE, since(book, now)
    rejected[#rejected + 1] = status * 4294967296 + index
    rejected[#rejected + 1] = index
    if code ~= '' then
      fields[#fields + 1] = 'c' .. index
      fields[#fields + 1] = code
    end
    if #messages > 0 then told[#told + 1] = { index, messages } end
  end
  if status == 0 or book.keep ~= 'none' then
    fields[#fields + 1] = 'a' .. index
    fields[#fields + 1] = args
    if source ~= '' then
      fields[#fields + 1] = 's' .. index
      fields[#fields + 1] = source
    end
  end
  records[i] = packed(event)
end

-- The first write may grow: at its memory limit the server refuses it, and nothing was done.
redis.call('SETRANGE', KEYS[2], first * SIZE, table.concat(records))
each('HSET', KEYS[3], fields)
each('ZADD', KEYS[4], rejected)
for _, one in ipairs(told) do addMessages(book, one[1], one[2]) end
redis.call('HSET', KEYS[1], 'cursor:' .. adder, at + count)
closeBooks()
return { 'ok', book.total }
