-- Adds rows, if the adder's cursor stands where the chunk begins. Rows, events, counts, cursor and the first jobs come
-- in one step.
--
-- KEYS  1 to 11 the task (ledger.lua), 12 queues.
-- ARGV  now (ms), adder, cursor expected, what the task keeps about the last row or "", number of rows; of each: args, number in the source or "", and "" if that is all
--       of it; else "+", source or "", class or "", status (0, or of a rejected row), code or "", number of messages,
--       messages.
-- Gives "ok", total; or the reason why not, cursor.
-- include: arguments ledger waiting closing adders

local MANY = 50

QUEUES = KEYS[12]
now = number()
local adder, from, last, count = text(), number(), text(), number()
local key = wrongTask(1)
if key then return redis.error_reply(unusable(key)) end

local book = bookOf(1)
if not book then return { 'unknown', 0 } end
local isRow = string.match(adder, '^row:(%d+)$')
local at
if isRow then
  if not eventOf(book, tonumber(isRow)) then return { 'unknown', 0 } end
  at = tonumber(redis.call('HGET', KEYS[3], 'k' .. isRow) or 0)
else
  local isGone
  at, isGone = cursorOf(book, adder)
  if not at or isGone then return { 'taken-over', at or 0 } end
end
if from + count <= at then return { 'ok', book.total } end
if book.state ~= 'open' or not isRow and not adderLine(book, adder) then return { 'ended', at } end
if from ~= at then return { 'gap', at } end

local isMixed = false
local first, records, fields, waiting, rejected, told = book.total, {}, {}, {}, {}, {}
-- Of a row in the source (0: none) that waits.
local function recordOfRow(source, row)
  return packed({
    status = 0, place = NEW, code = 0, result = 0, source = source, run = book.run, step = 1, started = 0, finished = 0,
    row = row,
  })
end
local plain = recordOfRow(0, 0)

local function addRow(index, args, row)
  local source, class, status, code, messages = text(), text(), number(), text(), {}
  for j = 1, number() do messages[j] = text() end
  local function keep(letter, value)
    if value ~= '' then
      fields[#fields + 1] = letter .. index
      fields[#fields + 1] = value
    end
  end
  keep('j', class)
  book.n[status] = book.n[status] + 1
  isMixed = isMixed or class ~= ''
  if status == 0 then
    waiting[#waiting + 1] = newEntry(index, book.run, args, source)
    return recordOfRow(source ~= '' and 1 or 0, row)
  end
  if status == REJECTED then reject(book, book.run) end
  local event = {
    index = index, status = status, place = ELSEWHERE, code = code ~= '' and 1 or 0, result = 0,
    source = source ~= '' and 1 or 0, run = book.run, step = 1, started = 0, finished = since(book, now), row = row,
    group = code,
  }
  rejected[#rejected + 1] = event
  keep('c', code)
  if book.keep == 'none' then
    event.source = 0
  else
    keep('a', args)
    keep('s', source)
  end
  if #messages > 0 then told[#told + 1] = { index, messages } end
  return packed(event)
end

for i = 1, count do
  local index, args, row, more = first + i - 1, text(), number(), text()
  row = row and row + 1 or 0
  if more ~= '' then
    records[i] = addRow(index, args, row)
  else
    waiting[#waiting + 1] = newEntry(index, book.run, args, '')
    records[i] = row > 0 and recordOfRow(0, row) or plain
    book.n[0] = book.n[0] + 1
  end
end
book.total = first + count
book.held = book.held + #waiting

-- The first write may grow: at its memory limit the server refuses it, and nothing was done.
redis.call('SETRANGE', KEYS[2], first * SIZE, table.concat(records))
each('RPUSH', KEYS[5], waiting)
each('HSET', KEYS[3], fields)
-- A hash without a longer value is looked through from its beginning each time.
if first < MANY and book.total >= MANY then redis.call('HSET', KEYS[3], '-', string.rep('-', 65)) end
if isMixed then redis.call('HSET', KEYS[1], 'mixed', 1) end
if last ~= '' then redis.call('HSET', KEYS[1], 'last', last) end
for _, event in ipairs(rejected) do redis.call('ZADD', KEYS[4], scoreOf(book, event), event.index) end
for _, one in ipairs(told) do addMessages(book, one[1], one[2]) end
if isRow then
  redis.call('HSET', KEYS[3], 'k' .. isRow, at + count)
else
  redis.call('HSET', KEYS[1], 'cursor:' .. adder, at + count)
end
closeBooks()
return { 'ok', book.total }
