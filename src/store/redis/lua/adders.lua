-- Who adds rows to a task: the header's field `adders` has a line for each, which begins with "a" (adds rows) or "r" (puts
-- rows back for another run), `broken` the names of those that were lost while they added; "cursor:NAME" tells how many
-- rows each has added, with an "x" before it when another took its place.

local function adderLine(book, name)
  for line in string.gmatch(book.adders, '[^\n]+') do
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

local function openAdder(book, adding, kind, name)
  book.adders = withLine(book.adders, kind .. name)
  redis.call('HSET', adding, book.id .. ' ' .. name, kind)
end

-- Answers its kind, if it was open.
local function closeAdder(book, adding, name)
  redis.call('HDEL', adding, book.id .. ' ' .. name)
  local line = adderLine(book, name)
  if not line then return end
  book.adders = withoutLine(book.adders, line)
  return string.sub(line, 1, 1)
end

-- How many rows it has added, nil of one that never did; true when another took its place.
local function cursorOf(book, name)
  local mark, cursor = string.match(redis.call('HGET', KEYS[book.base], 'cursor:' .. name) or '', '^(x?)(%d+)$')
  return tonumber(cursor), mark == 'x'
end
