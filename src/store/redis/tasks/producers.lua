-- The producers of a task.
--
-- The header's field `producers` has a line for each, which begins with "a" (adds rows) or "r" (retries rows). Its field
-- `broken` has the names of lost producers. Its field "cursor:NAME" has the number of rows that a producer has added,
-- with an "x" before it when another producer has taken over.

local function producerLine(ledger, name)
  for line in string.gmatch(ledger.producers, '[^\n]+') do
    if string.sub(line, 2) == name then return line end
  end
end

local function withLine(lines, line)
  return lines .. (lines == '' and '' or '\n') .. line
end

local function withoutLine(lines, line)
  local others = {}
  for one in string.gmatch(lines, '[^\n]+') do
    if one ~= line then others[#others + 1] = one end
  end
  return table.concat(others, '\n')
end

local function openProducer(ledger, producers, kind, name)
  ledger.producers = withLine(ledger.producers, kind .. name)
  redis.call('HSET', producers, ledger.id .. ' ' .. name, kind)
end

-- Returns the kind of a producer that was open.
local function closeProducer(ledger, producers, name)
  redis.call('HDEL', producers, ledger.id .. ' ' .. name)
  local line = producerLine(ledger, name)
  if not line then return end
  ledger.producers = withoutLine(ledger.producers, line)
  return string.sub(line, 1, 1)
end

-- Returns the number of rows that a producer has added, or nil; and true when another producer has taken over.
local function cursorOf(ledger, name)
  local prefix, cursor = string.match(redis.call('HGET', KEYS[ledger.base], 'cursor:' .. name) or '', '^(x?)(%d+)$')
  return tonumber(cursor), prefix == 'x'
end

-- Returns whether a producer was lost, and no other one has taken over.
local function isLost(ledger, name)
  return string.find('\n' .. ledger.broken .. '\n', '\n' .. name .. '\n', 1, true) ~= nil
end
