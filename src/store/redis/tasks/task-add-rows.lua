-- Adds rows, if the producer's cursor is where the chunk begins. Rows, events, counts, cursor and first jobs come in
-- one step.
--
-- KEYS  as in task-open.lua.
-- ARGV  begin as there; then come producer, expected cursor, what the task keeps about the last row or "", number of
--       rows; then groups of rows. A group of plain rows is the number of them, number of the first in the source or "",
--       and the arguments of each. A group of one other row is 0, arguments, number in the source or "", source or "",
--       class or "", status (0, or that of a rejected row), code or "", number of messages, messages.
-- Returns "ok" and the total; or the reason why not, and the cursor.
-- include: arguments ledger backlog closing producers task-open

local MANY = 50

local producer, from, last, count = text(), number(), text(), number()
if not ledger then return { 'unknown', 0 } end
local isRow, run = string.match(producer, '^row:(%d+):(%d+)$')
local at
if isRow then
  local event = eventOf(ledger, tonumber(isRow))
  if not event then return { 'unknown', 0 } end
  at = tonumber(redis.call('HGET', KEYS[3], 'k' .. isRow) or 0)
  if event.run > tonumber(run) then return { 'taken-over', at } end
else
  local isGone
  at, isGone = cursorOf(ledger, producer)
  if not at or isGone then return { 'taken-over', at or 0 } end
end
if from + count <= at then return { 'ok', ledger.total } end
if not isRow and isLost(ledger, producer) then return { 'taken-over', at } end
if ledger.state ~= 'open' or not isRow and not producerLine(ledger, producer) then return { 'ended', at } end
if from ~= at then return { 'gap', at } end

local isMixed = false
local first, records, fields, backlog, rejected, messagesOf = ledger.total, {}, {}, {}, {}, {}
-- Makes the record of a new row; `row` is its number in the source plus 1, or 0.
local function recordOfRow(source, row)
  return packed({
    status = 0, location = UNTOUCHED, code = 0, result = 0, source = source, run = ledger.run, step = 1, started = 0, finished = 0,
    row = row,
  })
end
local plain = recordOfRow(0, 0)
local plainHead = string.sub(plain, 1, -5)

local function addRow(index)
  local args, row = text(), number()
  row = row and row + 1 or 0
  local source, class, status, code, messages = text(), text(), number(), text(), {}
  for j = 1, number() do messages[j] = text() end
  addField(fields, 'j', index, class)
  ledger.n[status] = ledger.n[status] + 1
  isMixed = isMixed or class ~= ''
  if status == 0 then
    backlog[#backlog + 1] = newEntry(index, ledger.run, args, source)
    return recordOfRow(source ~= '' and 1 or 0, row)
  end
  noteRejection(ledger, ledger.run, status)
  local event = {
    index = index, status = status, location = ELSEWHERE, code = code ~= '' and 1 or 0, result = 0,
    source = source ~= '' and 1 or 0, run = ledger.run, step = 1, started = 0, finished = since(ledger, now), row = row,
    group = code,
  }
  rejected[#rejected + 1] = event
  addField(fields, 'c', index, code)
  if ledger.keepArgs == 'none' then
    event.source = 0
  else
    addField(fields, 'a', index, args)
    addField(fields, 's', index, source)
  end
  if #messages > 0 then messagesOf[#messagesOf + 1] = { index, messages } end
  return packed(event)
end

local indexText, line = writer('%d'), entryOf('', ledger.run, '', '')
local added = 0
while added < count do
  local group = number()
  if group == 0 then
    added = added + 1
    records[added] = addRow(first + added - 1)
  else
    local row = number()
    for i = 1, group do
      added = added + 1
      backlog[#backlog + 1] = indexText(first + added - 1) .. line .. text()
      records[added] = row and plainHead .. struct.pack('<I4', row + i) or plain
    end
    ledger.n[0] = ledger.n[0] + group
  end
end
ledger.total = first + count
ledger.backlog = ledger.backlog + #backlog

-- A server at its memory limit refuses this first write, and then nothing has changed.
redis.call('SETRANGE', KEYS[2], first * SIZE, table.concat(records))
each('RPUSH', KEYS[5], backlog)
each('HSET', KEYS[3], fields)
-- A hash with a value of more than 64 bytes is stored as a hash table, in which the server finds fields without
-- reading all of them.
if first < MANY and ledger.total >= MANY then redis.call('HSET', KEYS[3], '-', string.rep('-', 65)) end
if isMixed then redis.call('HSET', KEYS[1], 'mixed', 1) end
if last ~= '' then redis.call('HSET', KEYS[1], 'lastRow', last) end
if rejected[1] then redis.call('HINCRBY', KEYS[1], 'endedBefore', #rejected) end
for _, event in ipairs(rejected) do redis.call('ZADD', KEYS[4], scoreOf(ledger, event), event.index) end
for _, one in ipairs(messagesOf) do addMessages(ledger, one[1], one[2]) end
if isRow then
  redis.call('HSET', KEYS[3], 'k' .. isRow, at + count)
else
  redis.call('HSET', KEYS[1], 'cursor:' .. producer, at + count)
end
closeLedgers()
return { 'ok', ledger.total }
